// A chat that remembers across conversations, corrects itself, and shows what it remembers. Each run is a new conversation of
// the same user, each argument a message:
//
//   node remembering-chat.mjs "I live in Berlin since 2023." "I drink tea."
//   node remembering-chat.mjs "I moved to Lisbon."
//   node remembering-chat.mjs "Where do I live?"
//
// Rules answer and learn: it runs offline, without a key. With STEMMA_MODEL=claude-sonnet-5-5 ANTHROPIC_API_KEY=… a model does.
import { generateText, wrapLanguageModel } from "ai";
import { AgentSearchProvider, createLearnFunction, SessionManager } from "stemma";
import { resolveModel } from "stemma/agent";
import { stemmaMiddleware } from "stemma/ai-sdk";
import { sqlite } from "stemma/sqlite";

const { STEMMA_MODEL, STEMMA_MODEL_BASE_URL } = process.env;
// In a program of yours: const model = anthropic("claude-sonnet-5-5");
const model = STEMMA_MODEL ? await resolveModel(STEMMA_MODEL, { baseURL: STEMMA_MODEL_BASE_URL }) : null;

const store = sqlite("chat.db");
const learn = createLearnFunction({
  extract: (request) => (model === null ? factsIn(request) : generateText({ model, prompt: request.prompt })),
});
const sessions = SessionManager.create(store)
  .withContext("facts", {
    description: "What is known of the user",
    provider: new AgentSearchProvider(store, { scope: "user" }),
  })
  .onLearning(learn)
  .forUser("ada");

// Recalls what fits before each call, and stores the message and the answer.
const sessionId = crypto.randomUUID();
const remembering = wrapLanguageModel({
  model: model ?? rules(),
  middleware: stemmaMiddleware({ sessions, sessionId }),
});
const session = sessions.getSession(sessionId);
session.subscribe((event) => {
  if (event.type === "cf_agent_session_error") console.error(`Learning failed: ${event.error}`);
});

for (const prompt of process.argv.slice(2)) {
  const { text } = await generateText({ model: remembering, prompt });
  console.log(`> ${prompt}\n${text}`);
  // Learns from what is new. A server leaves that to learnDue().
  await session.close();
}

const facts = await sessions.store.entries.list(
  { sessionId: "", label: "facts", scope: "user" },
  { includeEnded: true },
);
console.log("Memory:");
for (const { content, validFrom, validTo } of facts.sort((a, b) =>
  (a.validFrom ?? "").localeCompare(b.validFrom ?? ""),
)) {
  const times = [validFrom && `since ${validFrom.slice(0, 10)}`, validTo && `until ${validTo.slice(0, 10)}`];
  console.log("-", content, ...times.filter(Boolean));
}
await store.close();

/** Facts in so many words, in the place of a model: a new one closes what is known of its subject. */
function factsIn({ messages, entries }) {
  const patterns = [
    { subject: "home", pattern: /\bI (?:live in|moved to) (\p{Lu}\p{L}+)(?: since (\d{4}))?/u, says: "Lives in" },
    { subject: "diet", pattern: /\bI drink (\p{L}+)(?: since (\d{4}))?/u, says: "Drinks" },
  ];
  return messages.flatMap(({ id, role, parts }) =>
    patterns.flatMap(({ subject, pattern, says }) => {
      const [said, what, year] = pattern.exec(parts.map(({ text = "" }) => text).join(" ")) ?? [];
      const content = `${says} ${what}.`;
      const known = entries.filter((entry) => entry.subject === subject);
      if (role !== "user" || said === undefined || known.some((entry) => entry.content === content)) return [];
      const times = { ...(year && { validFrom: `${year}-01-01` }), supersedes: known.map(({ key }) => key) };
      return [{ action: "add", label: "facts", key: `${subject} ${id}`, content, subject, ...times, messageIds: [id] }];
    }),
  );
}

/** Says what was recalled about a question, in the place of a model. */
function rules() {
  const answerTo = (prompt) => {
    const said = prompt.at(-1).content.map(({ text = "" }) => text);
    if (!said[0].includes("?")) return "I see.";
    const quoted = said.slice(1).join("\n").split("\n> [session ")[0];
    const facts = [...quoted.matchAll(/^> \d.*?: (.*)$/gm)].map(([, fact]) => fact);
    return facts.length > 0 ? `I remember: ${facts.join(" ")}` : "I remember nothing about that.";
  };
  return {
    specificationVersion: "v3",
    provider: "example",
    modelId: "rules",
    supportedUrls: {},
    doGenerate: async ({ prompt }) => ({
      content: [{ type: "text", text: answerTo(prompt) }],
      finishReason: { unified: "stop", raw: "stop" },
      usage: { inputTokens: {}, outputTokens: {} },
      warnings: [],
    }),
  };
}
