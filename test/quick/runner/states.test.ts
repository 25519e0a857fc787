// States that someone else's storage gives back: what they say is taken, or refused with a reason, and never lost.
import { describe, expect, it } from "vitest";
import {
  createSession,
  MemorySessionStorage,
  resumeSession,
  type SessionState,
} from "../../../packages/stemma/src/agent.js";
import { collect, says, scripted } from "../../runner/mock-model.js";

const plain = {
  id: "s",
  messages: [],
  usage: { input_tokens: 1, output_tokens: 2 },
  metadata: {},
  createdAt: 1,
  updatedAt: 2,
};

/** A storage that holds this one state. */
function holding(state: unknown) {
  const saved: SessionState[] = [];
  const storage = {
    saved,
    save: async (next: SessionState) => void saved.push(structuredClone(next)),
    load: async () => structuredClone(state) as SessionState,
    delete: async () => {},
    list: async () => ["s"],
  };
  return storage;
}

describe("a state that is none", () => {
  const user = { id: "a", role: "user", content: "Hi" };
  const wrong: [string, object][] = [
    ["without messages that are messages", { messages: [null] }],
    ["with a message without content", { messages: [{}] }],
    ["with a content that is no text", { messages: [{ role: "user", content: 5 }] }],
    ["with two messages of one id", { messages: [user, { ...user, content: "Bye" }] }],
    ["with a usage that is none", { usage: "much" }],
    ["without times", { createdAt: undefined }],
    ["with a damaged tree", { metadata: { stemma: { tree: 5 } } }],
    ["with damaged times of messages", { messages: [user], metadata: { stemma: { times: ["x"] } } }],
    ["with damaged blocks", { metadata: { stemma: { blocks: [1] } } }],
  ];
  for (const [what, fields] of wrong) {
    it(`is refused: ${what}`, async () => {
      const sessionStorage = holding({ ...plain, ...fields });
      await expect(resumeSession("s", { sessionStorage })).rejects.toMatchObject({
        code: "CORRUPT_STATE",
        details: { sessionId: "s" },
        cause: expect.any(Error),
      });
      expect(sessionStorage.saved).toEqual([]);
    });
  }
});

it("goes on with the state of a program that knows only the documented fields", async () => {
  const messages = [
    { role: "user", content: "Hi", timestamp: 5 },
    {
      role: "assistant",
      content: [
        { type: "text", text: "I look" },
        { type: "tool_use", id: "1", name: "n", input: {} },
      ],
    },
  ];
  const sessionStorage = holding({ ...plain, messages, metadata: undefined, usage: undefined, theirs: 9 });
  const model = scripted(says("Hello"));
  const session = await resumeSession("s", { model, sessionStorage });
  expect(await session.isInterrupted()).toBe(true);
  await session.send("And?");
  await collect(session.receive());
  expect(model.doStreamCalls[0]?.prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  expect(sessionStorage.saved.at(-1)).toMatchObject({
    theirs: 9,
    createdAt: 1,
    messages: [messages[0], {}, {}, {}, {}],
  });
});

it("takes no id that storages keep something else under", async () => {
  const sessionStorage = new MemorySessionStorage();
  const taken = createSession({ sessionStorage, id: "stemma-unnamed" });
  await expect(taken).rejects.toMatchObject({ code: "INVALID_SESSION_ID" });
  expect(await sessionStorage.list()).toEqual([]);
});
