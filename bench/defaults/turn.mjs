// Whole turns, with a model behind HTTP that takes its time.
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { convertToModelMessages, generateText } from "ai";
import { SIDES } from "./calls.mjs";

/** Milliseconds that the model takes for an answer. Most real ones take longer, so that stemma's share is smaller. */
export const DELAY = 500;

const ANSWER = {
  id: "answer",
  object: "chat.completion",
  created: 1,
  model: "local",
  choices: [{ index: 0, message: { role: "assistant", content: "It was the second one." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 4_000, completion_tokens: 7, total_tokens: 4_007 },
};

/** A server that speaks OpenAI's protocol: `ask` asks it through the AI SDK. */
export async function startModel() {
  const server = createServer(async (request, response) => {
    for await (const _piece of request);
    await wait(DELAY);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(ANSWER));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const model = createOpenAICompatible({
    name: "local",
    baseURL: `http://127.0.0.1:${server.address().port}/v1`,
  })("local");
  return {
    async ask({ system, messages }) {
      const { text } = await generateText({ model, system, messages: await convertToModelMessages(messages) });
      return text;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Milliseconds of each turn by setting: the calls of each side together, `whole` with the model, and its `share` of stemma's in percent. */
export async function measureTurns(settings, datasets, model, turns) {
  const pairs = datasets.batches(2);
  const found = settings.map(() => ({ stemma: [], bare: [], whole: [], share: [] }));
  for (let turn = -1; turn < turns; turn += 1) {
    const [question, answer] = pairs.batch(turn + 1);
    for (const [index, setting] of settings.entries()) {
      const spent = {};
      for (const side of SIDES) {
        const start = performance.now();
        await setting[side].appendLong(question);
        const prepared = await setting[side].prepareTurn();
        const asked = performance.now();
        // The same request for both would be measured twice: only stemma's is sent.
        const text = side === "stemma" ? await model.ask(prepared) : answer.parts.at(-1).text;
        const answered = performance.now();
        await setting[side].appendLong({ id: answer.id, role: "assistant", parts: [{ type: "text", text }] });
        const end = performance.now();
        spent[side] = { calls: asked - start + (end - answered), whole: end - start };
      }
      if (turn < 0) continue;
      for (const side of SIDES) found[index][side].push(spent[side].calls);
      found[index].whole.push(spent.stemma.whole);
      found[index].share.push((100 * spent.stemma.calls) / spent.stemma.whole);
    }
  }
  return found;
}
