import type { UIMessage } from "ai";
import { expect, it } from "vitest";
import { chatHandler } from "../../../packages/stemma/src/ai-sdk.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { type Say, scriptedModel } from "../../ai-sdk/scripted-model.js";

const SECOND: Record<string, Say> = {
  "that failed": { fail: "overloaded" },
  "that was stopped": { slow: "one two three four five six seven eight nine ten", pause: 100 },
};

// In one process, so what is read as the client hears of it is the chat of that moment.
it.each(Object.entries(SECOND))(
  "a client that hears of an answer %s finds the chat as it is then",
  async (_, second) => {
    const store = memory();
    const sessions = SessionManager.create(store);
    let calls = 0;
    const { model } = scriptedModel(() => (calls++ === 0 ? "Answer 1." : second));
    const handler = chatHandler({ sessions, model, authenticate: () => ({ userId: "ada" }) });
    const ask = (path: string, body: object) =>
      handler(new Request(`http://localhost/api/chat${path}`, { method: "POST", body: JSON.stringify(body) }));
    const message: UIMessage = { id: "q", role: "user", parts: [{ type: "text", text: "hello" }] };
    await (await ask("", { id: "c", message })).text();
    const history = () => sessions.forUser("ada").getHistory("c");
    const [, first] = await history();
    const response = await ask("", { id: "c", trigger: "regenerate-message", messageId: first?.id });
    const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let stopped: Promise<Response> | null = null;
    let seen: Promise<readonly { id: string }[]> | null = null;
    for (let read = await chunks?.read(); read?.done === false; read = await chunks?.read()) {
      const run = /"runId":"([^"]+)"/.exec(read.value)?.[1];
      if (run !== undefined && "slow" in (second as object)) stopped = ask("/c/stop", { runId: run });
      if (/"type":"(?:error|abort)"/.test(read.value)) seen ??= history();
    }
    await stopped;
    const told = await seen;
    expect(told?.map(({ id }) => id)).toEqual((await history()).map(({ id }) => id));
    expect(told).toHaveLength(2);
    await store.close();
  },
);
