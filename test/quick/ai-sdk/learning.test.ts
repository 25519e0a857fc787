import type { UIMessage } from "ai";
import { afterEach, expect, it, vi } from "vitest";
import { chatHandler } from "../../../packages/stemma/src/ai-sdk.js";
import { type LearnFunction, SessionManager } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { scriptedModel } from "../../ai-sdk/scripted-model.js";

const store = memory();
afterEach(() => vi.restoreAllMocks());

const learn: LearnFunction = async ({ messages }) =>
  messages
    .filter(({ role }) => role === "user")
    .map(({ id, parts }) => ({ action: "add", label: "memory", content: String(parts[0]?.text), messageIds: [id] }));

function handlerOf(userId: string, learning: LearnFunction | null, options: object = {}) {
  const sessions = SessionManager.create(store).withContext("memory", { scope: "user" });
  if (learning !== null) sessions.onLearning(learning, { idleAfter: Infinity });
  const { model } = scriptedModel(() => "Noted.");
  const handler = chatHandler({ sessions, model, authenticate: () => ({ userId }), ...options });
  const waited: Promise<unknown>[] = [];
  const say = async (
    chatId: string,
    text: string,
    context: object = { waitUntil: (work: Promise<unknown>) => waited.push(work) },
  ) => {
    const message: UIMessage = { id: `${chatId}-q`, role: "user", parts: [{ type: "text", text }] };
    const body = JSON.stringify({ id: chatId, message });
    await (await handler(new Request("http://localhost/api/chat", { method: "POST", body }), context)).text();
    await Promise.all(waited);
  };
  return { say, known: async (chatId: string) => (await sessions.readContextBlock(chatId, "memory"))?.content };
}

it("learns after an answer, where the platform waits for it", async () => {
  const { say, known } = handlerOf("ada", learn);
  await say("a1", "Lives in Lima.", {});
  expect(await known("a1")).toBe("");
  await say("a2", "Drinks tea.");
  expect(await known("a2")).toBe("Lives in Lima.\nDrinks tea.");
});

it("leaves chats that are not idle, and what nobody learns from", async () => {
  const idle = handlerOf("bob", learn, { learn: { idleFor: 60_000 } });
  await idle.say("b1", "Lives in Rome.");
  expect(await idle.known("b1")).toBe("");
  const none = handlerOf("cleo", null);
  await none.say("c1", "Lives in Rome.");
  expect(await none.known("c1")).toBe("");
  expect(() => handlerOf("ada", learn, { learn: { limit: 0 } })).toThrow(/limit/);
});

it("tells what fails of it, and the answer is there", async () => {
  const errors: unknown[] = [];
  const { say, known } = handlerOf("dora", learn, { onError: (error: unknown) => void errors.push(error) });
  vi.spyOn(SessionManager.prototype, "learnDue").mockRejectedValue(new RangeError("no database today"));
  await say("d1", "Lives in Lima.");
  expect([errors.map(String), await known("d1")]).toEqual([["RangeError: no database today"], ""]);
});
