import { tool, type UIMessage } from "ai";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { defer } from "../../../packages/model/src/lib/queue.js";
import { createLearnFunction } from "../../../packages/session/src/learning/learn.js";
import { chatHandler } from "../../../packages/stemma/src/ai-sdk.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { type Say, scriptedModel } from "../../ai-sdk/scripted-model.js";
import { textMessage } from "../../helpers/messages.js";
import { patience } from "../../helpers/patience.js";

const WORDS = "one two three four five six seven eight nine ten eleven twelve";
const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time));

describe("what is erased while somebody is at work on it", () => {
  let store: Store;
  let sessions: SessionManager;

  beforeEach(() => {
    store = sqlite(":memory:");
    sessions = SessionManager.create(store).withContext("memory", { scope: "user" });
    return () => store.close();
  });

  async function leftOf(userId: string) {
    const memory = await sessions.forUser(userId).getSession("new chat").readContextBlock("memory");
    return { sessions: (await sessions.list()).map(({ id }) => id), memory: memory?.content ?? "" };
  }

  const NOTHING = { sessions: [], memory: "" };

  const SCRIPTS: Record<string, (step: number) => Say | readonly Say[]> = {
    "a text": () => ({ slow: WORDS, pause: 40 }),
    "a text and a note in the memory": (step) =>
      step === 0
        ? [
            { slow: WORDS, pause: 40 },
            { call: "set_context", input: { label: "memory", content: "Likes tea" } },
          ]
        : "Noted.",
    "a slow tool and a note in the memory": (step) =>
      step === 0 ? { call: "wait" } : { call: "set_context", input: { label: "memory", content: "Likes tea" } },
  };
  const ERASE: Record<string, () => Promise<unknown>> = {
    eraseUser: () => sessions.eraseUser("ada"),
    delete: () => sessions.delete("chat"),
  };
  const CASES = Object.keys(SCRIPTS).flatMap((script) => Object.keys(ERASE).map((erase) => [erase, script] as const));

  it.each(CASES)("%s ends an answer of %s, of which nothing is kept", async (erase, script) => {
    let step = 0;
    const { model } = scriptedModel(() => SCRIPTS[script]?.(step++) as Say);
    const errors: unknown[] = [];
    const erased = defer();
    const wait = tool({ inputSchema: z.object({}), execute: () => erased.promise });
    const handler = chatHandler({
      sessions,
      model,
      tools: { wait },
      authenticate: () => ({ userId: "ada" }),
      onError: (error) => String(errors.push(error)),
    });
    const message: UIMessage = { id: "q", role: "user", parts: [{ type: "text", text: "Hello" }] };
    const body = JSON.stringify({ id: "chat", message });
    const response = await handler(new Request("http://localhost/api/chat", { method: "POST", body }));
    const told = response.text();
    await vi.waitFor(
      async () => expect(await sessions.forUser("ada").getHistory("chat")).toHaveLength(1),
      patience(20_000),
    );
    await sleep(100);
    await ERASE[erase]?.();
    // A tool that ends now is followed by no step that writes.
    erased.resolve();
    await told;
    await sleep(500);
    expect(await leftOf("ada")).toEqual(NOTHING);
    expect(await store.records.labels("chat")).toEqual([]);
    expect(errors).toEqual([]);
  });

  it.each(Object.keys(ERASE))("%s ends learning, of which nothing is kept", async (erase) => {
    for (const fails of [false, true]) {
      const extract = async () => {
        await sleep(100);
        if (fails) throw new Error("The model cannot be reached.");
        return [{ action: "add", label: "memory", content: "Likes tea", messageIds: ["m"] }] as const;
      };
      const learning = SessionManager.create(store)
        .withContext("memory", { scope: "user" })
        .onLearning(createLearnFunction({ extract: extract as never }), { idleAfter: 50 });
      const session = learning.forUser("ada").getSession("chat");
      await session.appendMessage(textMessage("m", "I like tea."));
      const closed = session.close();
      await sleep(50);
      await ERASE[erase]?.();
      await closed;
      await sleep(200);
      expect(await leftOf("ada")).toEqual(NOTHING);
    }
  });

  it.each(Object.keys(ERASE))("after %s no timer begins to learn", async (erase) => {
    const learning = SessionManager.create(store)
      .withContext("memory", { scope: "user" })
      .onLearning(createLearnFunction({ extract: () => [] }), { idleAfter: 100 });
    const session = learning.forUser("ada").getSession("chat");
    await session.appendMessage(textMessage("m", "I like tea."));
    await ERASE[erase]?.();
    await sleep(300);
    expect(await leftOf("ada")).toEqual(NOTHING);
  });
});
