import { turnsOf } from "./conversation.mjs";
import { createProviderCache } from "./provider-cache.mjs";

const SOUL = "You are a helpful assistant that remembers what people tell it. ".repeat(60);

/** How each strategy asks: gives the prompt and the messages. */
const STRATEGIES = {
  never: async (session) => ({ system: await session.freezeSystemPrompt(), messages: await session.getHistory() }),
  always: async (session) => ({ system: await session.refreshSystemPrompt(), messages: await session.getHistory() }),
  prepareTurn: (session, { cacheTtl }) => session.prepareTurn({ cacheTtl }),
};

const CACHES = {
  "5 minutes": { ttl: 5 * 60_000, write: 1.25 },
  "1 hour": { ttl: 60 * 60_000, write: 2 },
};

async function simulate(stemma, ask, turns, cacheOptions) {
  const { createCompactFunction, Session } = stemma;
  const send = createProviderCache(cacheOptions);
  const store = stemma.openStore();
  const session = Session.create(store)
    .forSession("main")
    .withContext("soul", { provider: { get: async () => SOUL } })
    .withContext("memory", { description: "What you know of them", maxTokens: 20_000 })
    .withCachedPrompt()
    .onCompaction(
      createCompactFunction({ summarize: async () => "They talked about what they do.", tailTokenBudget: 4_000 }),
    )
    .compactAfter(24_000);
  const realNow = Date.now;
  let now = realNow();
  Date.now = () => Math.floor(now);
  const result = { cost: 0, tokens: 0, stale: 0, breaks: 0 };
  try {
    for (const { pause, question, answer, learned, elsewhere } of turns) {
      now += pause;
      if (elsewhere !== null) await session.appendContextBlock("memory", elsewhere);
      await session.appendMessage(question);
      const { system, messages } = await ask(session, { cacheTtl: cacheOptions.ttl });
      const sent = send(piecesOf(stemma, system, messages), now);
      result.cost += sent.cost;
      result.tokens += sent.tokens;
      const seen = system + JSON.stringify(messages);
      const { content } = session.getContextBlock("memory");
      if (
        content.split("\n").some((fact) => !seen.includes(JSON.stringify(fact).slice(1, -1)) && !seen.includes(fact))
      ) {
        result.stale += 1;
      }
      now += 5_000;
      if (learned !== null) await session.appendContextBlock("memory", learned);
      await session.appendMessage(answer);
    }
  } finally {
    Date.now = realNow;
    await store.close();
  }
  return result;
}

// As a client for Anthropic marks them: the prompt, the last message, and the last of the turn before.
function piecesOf({ estimateStringTokens }, system, messages) {
  const pieces = messages.map((message, index) => {
    const text = JSON.stringify([message.role, message.parts]);
    return { text, tokens: estimateStringTokens(text), isBreakpoint: index >= messages.length - 1 };
  });
  return [{ text: system, tokens: estimateStringTokens(system), isBreakpoint: true }, ...pieces];
}

/**
 * For each kind of cache and each strategy what `count` turns of each conversation cost, as a multiple of the cheapest, and how
 * many answers were given without something that was remembered. `stemma` is the package, and how to open a store.
 */
export async function compareStrategies(stemma, conversations, count) {
  const rows = [];
  for (const [cache, options] of Object.entries(CACHES)) {
    const sums = {};
    for (const [name, ask] of Object.entries(STRATEGIES)) {
      sums[name] = { cost: 0, stale: 0 };
      for (const [seed, conversation] of conversations.entries()) {
        const { cost, stale } = await simulate(stemma, ask, turnsOf(conversation, count, seed + 1), options);
        sums[name].cost += cost;
        sums[name].stale += stale;
      }
    }
    const cheapest = Math.min(...Object.values(sums).map(({ cost }) => cost));
    for (const [strategy, { cost, stale }] of Object.entries(sums)) {
      rows.push({ cache, strategy, cost: cost / cheapest, stale, answers: conversations.length * count });
    }
  }
  return rows;
}
