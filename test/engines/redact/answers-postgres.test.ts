// An answer with a secret that the stream cuts in two, in what a server keeps of it.
import { simulateReadableStream } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { chatHandler } from "../../../packages/stemma/src/ai-sdk.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { describeServer } from "../../postgres/server.js";
import { cutChunks, occurrences, redact, SECRET, TOLD, textOfRows } from "../../redact/canary.js";
import { usage } from "../../runner/mock-model.js";

function cutModel(at: number) {
  const end = { type: "finish", usage: usage(1, 1), finishReason: { unified: "stop", raw: "stop" } };
  const chunks = [{ type: "stream-start", warnings: [] }, ...cutChunks(at), end];
  return new MockLanguageModelV3({
    doStream: async () => ({
      stream: simulateReadableStream({ chunks: chunks as never[], chunkDelayInMs: 150, initialDelayInMs: null }),
    }),
  });
}

describeServer("a chat on a server whose store has redact", (server) => {
  it("keeps no secret, wherever the stream cuts it, and shows none to another process", async () => {
    const [store, other] = [postgres(server.url, { redact }), postgres(server.url, { redact })];
    await store.migrate();
    const kept = async () => {
      const tables = await server.query(server.url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
      const rows = tables.map(({ tablename }) => server.query(server.url, `SELECT * FROM "${tablename}"`));
      return textOfRows(await Promise.all(rows));
    };
    const ask = (on: typeof store, at: number, way: string, body?: object) =>
      chatHandler({
        sessions: SessionManager.create(on),
        model: cutModel(at),
        authenticate: () => ({ userId: "ada" }),
      })(new Request(`http://x/api/chat${way}`, body && { method: "POST", body: JSON.stringify(body) }));
    const question = { id: "q", role: "user", parts: [{ type: "text", text: TOLD }] };
    let isOver = false;
    const watching = (async () => {
      while (!isOver) {
        expect(occurrences(await kept())).toBe(0);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
    const cuts = Array.from({ length: SECRET.length / 4 }, (_, at) => at * 4 + 1);
    const streams = await Promise.all(
      cuts.map(async (at) => {
        const body = { id: `chat-${at}`, messages: [question], trigger: "submit-message" };
        const response = await ask(store, at, "", body);
        await new Promise((resolve) => setTimeout(resolve, 300));
        const resumed = await ask(other, at, `/chat-${at}/stream`);
        const [text] = await Promise.all([resumed.text(), response.text()]);
        return text;
      }),
    );
    isOver = true;
    await watching;
    for (const resumed of streams) {
      expect(occurrences(resumed)).toBe(0);
      expect(resumed).toContain("[key]");
    }
    const text = await kept();
    expect(occurrences(text)).toBe(0);
    expect(text).toContain("[key]");
    await store.close();
    await other.close();
  });
});
