import {
  deleteSession,
  forkSession,
  getSessionInfo,
  getSessionMessages,
  getSubagentMessages,
  InMemorySessionStore,
  listSessions,
  listSubagents,
  renameSession,
  type SessionStore,
  tagSession,
} from "@anthropic-ai/claude-agent-sdk";
import { describe, expect, it } from "vitest";
import { claudeSessionStore } from "../../../packages/stemma/src/claude.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { transcript, turn } from "../../claude/transcripts.js";

const dir = "/tmp/project";
const projectKey = "-tmp-project";

/** Ours, and the SDK's own, with the same entries. */
async function both(entries: (sessionId: string) => Record<string, unknown>[]) {
  const sessionId = crypto.randomUUID();
  const given = entries(sessionId) as { type: string }[];
  const host = memory();
  const stores: SessionStore[] = [claudeSessionStore(host), new InMemorySessionStore()];
  for (const store of stores) await store.append({ projectKey, sessionId }, given);
  /** What a function of the SDK gives on ours, which must be what it gives on its own. */
  const same = async <T>(call: (sessionStore: SessionStore) => Promise<T>): Promise<T> => {
    const [ours, theirs] = await Promise.all(stores.map(call));
    expect(ours).toEqual(theirs);
    return ours as T;
  };
  return { sessionId, host, stores, same, ours: stores[0] as SessionStore };
}

describe("functions of the Claude Agent SDK on a store", () => {
  it("read a session's messages, its title and what it is about", async () => {
    const { sessionId, same } = await both((id) => [
      ...Object.values(turn(id)),
      { type: "summary", summary: "A folder" },
    ]);
    const messages = await same((sessionStore) =>
      getSessionMessages(sessionId, { sessionStore, dir, includeSystemMessages: true }),
    );
    expect(messages.map(({ type }) => type)).toEqual(["user", "assistant", "assistant", "user", "assistant"]);
    const [info] = await same(async (sessionStore) =>
      (await listSessions({ sessionStore, dir })).map((found) => ({ ...found, lastModified: 0 })),
    );
    expect(info).toMatchObject({ sessionId, summary: "A folder", firstPrompt: "What is in the folder?" });
  });

  it("read what follows a summary of Claude Code alone, as the history of the session does", async () => {
    const { sessionId, same, host } = await both((id) => {
      const said = turn(id);
      const { user, assistant, other } = transcript(id, 100);
      const boundary = other(null, "system", {
        subtype: "compact_boundary",
        content: "Conversation compacted",
        logicalParentUuid: said.timed.uuid,
        compactMetadata: { trigger: "manual", preTokens: 100 },
      });
      const summary = user(boundary.uuid, "They looked at a folder.", { isCompactSummary: true });
      const answer = assistant(summary.uuid, [{ type: "text", text: "Go on." }]);
      return [...Object.values(said), boundary, summary, answer];
    });
    const messages = await same((sessionStore) => getSessionMessages(sessionId, { sessionStore, dir }));
    const session = Session.create(host).forSession(`claude/${projectKey}/${sessionId}`);
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(messages.map(({ uuid }) => uuid));
    expect(messages.map(({ type }) => type)).toEqual(["user", "assistant"]);
  });

  it("rename, tag, fork and delete a session", async () => {
    const { sessionId, ours, same } = await both((id) => Object.values(turn(id)));
    await same((sessionStore) => renameSession(sessionId, "Folders", { sessionStore, dir }));
    await same((sessionStore) => tagSession(sessionId, "work", { sessionStore, dir }));
    const info = await getSessionInfo(sessionId, { sessionStore: ours, dir });
    expect(info).toMatchObject({ customTitle: "Folders", tag: "work" });
    const [, , call] = await getSessionMessages(sessionId, { sessionStore: ours, dir });
    const forked = await forkSession(sessionId, { sessionStore: ours, dir, upToMessageId: call?.uuid ?? "" });
    const copied = await getSessionMessages(forked.sessionId, { sessionStore: ours, dir });
    expect(copied.map(({ message }) => message)).toEqual(
      (await getSessionMessages(sessionId, { sessionStore: ours, dir })).slice(0, 3).map(({ message }) => message),
    );
    await same((sessionStore) => deleteSession(sessionId, { sessionStore, dir }));
    const left = await listSessions({ sessionStore: ours, dir });
    expect(left.map((found) => [found.sessionId, found.customTitle])).toEqual([[forked.sessionId, "Folders (fork)"]]);
  });

  it("read the transcripts of sub-agents", async () => {
    const { sessionId, stores, same } = await both((id) => Object.values(turn(id)));
    const entries = Object.values(turn(sessionId, "Look for kiwis.")).map((entry) => ({
      ...entry,
      isSidechain: true,
      agentId: "a1",
    }));
    for (const store of stores) await store.append({ projectKey, sessionId, subpath: "subagents/agent-a1" }, entries);
    expect(await same((sessionStore) => listSubagents(sessionId, { sessionStore, dir }))).toEqual(["a1"]);
    expect(await same((sessionStore) => getSubagentMessages(sessionId, "a1", { sessionStore, dir }))).toHaveLength(5);
  });
});
