import { forkSession, getSessionMessages, type SessionStore } from "@anthropic-ai/claude-agent-sdk";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { claudeSessionStore } from "../../../packages/stemma/src/claude.js";
import { StemmaChatMessageHistory } from "../../../packages/stemma/src/langchain.js";
import { Session, type SessionMessage, type SessionMessagePart } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { transcript, turn } from "../../claude/transcripts.js";
import { textMessage } from "../../helpers/messages.js";

const dir = "/tmp/project";
const projectKey = "-tmp-project";

function open() {
  const host = memory();
  const sessionId = crypto.randomUUID();
  const store = claudeSessionStore(host);
  const key = { projectKey, sessionId };
  const session = Session.create(host).forSession(`claude/${projectKey}/${sessionId}`);
  /** The conversation as the SDK sees it: what each entry says. */
  const seen = async () => {
    const messages = await getSessionMessages(sessionId, { sessionStore: store as SessionStore, dir });
    return messages.map(({ type, message }) => [type, contentOf(message)]);
  };
  return { host, store, key, session, sessionId, seen };
}

const contentOf = (message: unknown) => (message as { content: unknown }).content;
const answer = (id: string, ...parts: SessionMessagePart[]): SessionMessage => ({ id, role: "assistant", parts });

const WEATHER = {
  type: "tool-weather",
  toolCallId: "c1",
  state: "output-available",
  input: { city: "Oslo" },
  output: { degrees: 3 },
};

describe("a session of Claude that another program continued", () => {
  it("shows the SDK what was said there, and Claude goes on below it", async () => {
    const { store, key, session, sessionId, seen } = open();
    const said = Object.values(turn(sessionId));
    await store.append(key, said);
    await session.appendMessage(textMessage("q", "And how cold is it?"));
    const reply = answer(
      "a",
      { type: "step-start" },
      WEATHER,
      { type: "step-start" },
      { type: "text", text: "3 degrees." },
    );
    await session.appendMessage(reply);

    const before = await seen();
    expect(before.slice(5)).toEqual([
      ["user", "And how cold is it?"],
      ["assistant", [{ type: "tool_use", id: "c1", name: "weather", input: { city: "Oslo" } }]],
      ["user", [{ type: "tool_result", tool_use_id: "c1", content: '{"degrees":3}' }]],
      ["assistant", [{ type: "text", text: "3 degrees." }]],
    ]);
    const loaded = await store.load(key);
    expect(loaded?.slice(0, said.length)).toEqual(said);
    expect(loaded?.at(-1)).toMatchObject({ cwd: "/tmp/project", version: "2.1.330", gitBranch: "main", sessionId });
    expect(await store.load(key)).toEqual(loaded);

    const { user, assistant, other } = transcript(sessionId, 100);
    const note = other(String(loaded?.at(-1)?.uuid), "attachment", { attachment: {} });
    const asked = user(note.uuid, "Is that cold?");
    const answered = assistant(asked.uuid, [{ type: "text", text: "For kiwis." }]);
    await store.append(key, [note, asked, answered]);
    expect((await session.getHistory()).slice(-4).map(({ id }) => id)).toEqual(["q", "a", asked.uuid, answered.uuid]);
    expect(await store.load(key)).toEqual([...(loaded ?? []), note, asked, answered]);
    expect(await seen()).toEqual([
      ...before,
      ["user", "Is that cold?"],
      ["assistant", [{ type: "text", text: "For kiwis." }]],
    ]);

    // What the SDK was shown may come back; it is there already.
    await store.append(key, (await store.load(key)) ?? []);
    expect(await store.load(key)).toHaveLength(said.length + 7);
    expect(await session.getHistory()).toHaveLength(9);
  });

  it("can have been begun there", async () => {
    const { store, key, session, sessionId, seen } = open();
    expect(await store.load(key)).toBe(null);
    await session.appendMessage(textMessage("q", "Who are you?"));
    await session.appendMessage(answer(crypto.randomUUID(), { type: "text", text: "A mill." }));
    expect(await seen()).toEqual([
      ["user", "Who are you?"],
      ["assistant", [{ type: "text", text: "A mill." }]],
    ]);
    const loaded = (await store.load(key)) ?? [];
    const asked = transcript(sessionId).user(String(loaded.at(-1)?.uuid), "Really?");
    await store.append(key, [asked]);
    expect((await session.getHistory()).map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(await store.load(key)).toEqual([...loaded, asked]);
    expect((await store.listSessions(projectKey)).map(({ sessionId: id }) => id)).toEqual([sessionId]);
  });

  it("is forked by the SDK with all that was said", async () => {
    const { store, key, session, sessionId } = open();
    await store.append(key, Object.values(turn(sessionId)));
    await session.appendMessage(textMessage("not a uuid", "Fork me."));
    const sessionStore = store as SessionStore;
    const forked = await forkSession(sessionId, { sessionStore, dir });
    const copied = await getSessionMessages(forked.sessionId, { sessionStore, dir });
    expect(contentOf(copied.at(-1)?.message)).toBe("Fork me.");
    const ids = (await store.load({ projectKey, sessionId: forked.sessionId }))?.map(({ uuid }) => uuid);
    expect(new Set(ids).size).toBe(ids?.length);
  });

  it("has the results that others gave to Claude's calls, and to calls without one, one that says so", async () => {
    for (const apart of [false, true]) {
      const { store, key, session, sessionId, seen } = open();
      const { asked, note, thought, call } = turn(sessionId);
      await store.append(key, [asked, note, thought, call]);
      if (apart) {
        const part = { type: "tool-result", toolCallId: "toolu_1", toolName: "Bash", output: "kiwi.txt" };
        await session.appendMessage({ id: "r", role: "tool", parts: [part] });
      } else {
        const result = new ToolMessage({ tool_call_id: "toolu_1", content: "kiwi.txt" });
        await new StemmaChatMessageHistory(session).addMessage(result);
      }
      await new StemmaChatMessageHistory(session).addMessage(new AIMessage("A kiwi."));
      const pending = { ...WEATHER, state: "input-available", output: undefined, toolCallId: "c 2" };
      await session.appendMessage(answer("p", pending));
      const [use, ...rest] = (await seen()).slice(2);
      expect(use).toEqual(["assistant", [{ type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "ls" } }]]);
      const id = expect.stringMatching(/^toolu_\w+$/);
      expect(rest).toEqual([
        ["user", [{ type: "tool_result", tool_use_id: "toolu_1", content: "kiwi.txt" }]],
        ["assistant", [{ type: "text", text: "A kiwi." }]],
        ["assistant", [{ type: "tool_use", id, name: "weather", input: { city: "Oslo" } }]],
        [
          "user",
          [{ type: "tool_result", tool_use_id: id, content: expect.stringContaining("Interrupted"), is_error: true }],
        ],
      ]);
      expect((await store.load(key))?.slice(0, 4)).toEqual([asked, note, thought, call]);
    }
  });

  it("leaves out what Claude's API refuses of others", async () => {
    const { store, key, session } = open();
    await session.appendAll([
      { id: "s", role: "system", parts: [{ type: "text", text: "Be brief." }] },
      {
        id: "u",
        role: "user",
        parts: [
          { type: "text", text: "Look:" },
          { type: "file", mediaType: "application/pdf", url: "data:application/pdf;base64,AAAA" },
          { type: "file", mediaType: "audio/mp3", url: "data:audio/mp3;base64,AAAA" },
        ],
      },
      answer("r", { type: "reasoning", text: "Hmm." }),
      answer("e", { type: "text", text: "" }, { type: "text", text: "Yes." }),
    ]);
    const entries = (await store.load(key)) ?? [];
    expect(entries.map(({ message }) => contentOf(message))).toEqual([
      [
        { type: "text", text: "Look:" },
        { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AAAA" } },
      ],
      [{ type: "text", text: "Yes." }],
    ]);
    expect(entries.map(({ uuid, parentUuid }) => [uuid, parentUuid])).toEqual([
      [expect.any(String), null],
      [expect.any(String), entries[0]?.uuid],
    ]);
  });
});
