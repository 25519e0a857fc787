import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import type { SessionInfo, SessionMessage } from "../../../packages/stemma/src/session.js";
import { conversations } from "../../workers/conversations.js";
import { describeWorkerd } from "../../workers/workerd.js";

const fixture = (name: string) => readFileSync(join(import.meta.dirname, "../../workers/fixtures", name));
const agents = gunzipSync(fixture("agents-0.22.0.sqlite.gz"));
/** What agents 0.22 read from that database. */
const expected = JSON.parse(fixture("agents-0.22.0.json").toString()) as {
  history: SessionMessage[];
  otherBranch: SessionMessage[];
  prompt: string;
  manager: { list: SessionInfo[]; history: SessionMessage[]; prompt: string };
  long: SessionMessage[];
};

describeWorkerd("a Durable Object that agents 0.22 wrote", conversations, (workerd) => {
  it.each(["ChatObject", "AgentObject"] as const)("is upgraded in place, as a %s", async (className) => {
    const chat = workerd.object(className, "upgraded");
    await chat.call("getPathLength");
    await workerd.stop();
    replaceDatabase(workerd.folderOf(className), agents);

    const history = (await chat.call("getHistory")) as SessionMessage[];
    expect(history.map(withoutTime)).toEqual(expected.history.map(withoutTime));
    const otherBranch = (await chat.call("getHistory", "m5")) as SessionMessage[];
    expect(otherBranch.map(withoutTime)).toEqual(expected.otherBranch.map(withoutTime));
    expect(await chat.call("getCompactions")).toMatchObject([
      { summary: "Deploys are on Fridays.", fromMessageId: "m1" },
    ]);
    expect(await chat.call("freezeSystemPrompt")).toBe(expected.prompt);
    expect(await chat.call("refreshSystemPrompt")).toContain("User likes coffee.\nUser prefers dark roast.");
    expect(await chat.call("search", "deploy Friday")).toMatchObject([{ id: "m1" }]);
    expect(await chat.useTool("search_context", { label: "knowledge", query: "Oslo" })).toContain("staging server");

    // A named session, and one that is new, shared these with the unnamed one; what they write since is theirs.
    const query = { label: "knowledge", query: "Oslo" };
    const entry = {
      label: "knowledge",
      content: "The staging server moved from Oslo.",
      metadata: { title: "Staging" },
    };
    expect(await chat.useToolIn("long", "search_context", query)).toContain("is in Oslo");
    expect(await chat.useToolIn("long", "set_context", entry)).not.toContain("Error");
    expect(await chat.useToolIn("long", "search_context", query)).not.toContain("is in Oslo");
    expect(await chat.useToolIn("new", "search_context", query)).toContain("is in Oslo");
    expect(await chat.useToolIn("new", "notes", {})).toBe("User likes coffee.\nUser prefers dark roast.");

    const [info] = expected.manager.list;
    const id = info?.id as string;
    const { created_at: _created, updated_at: _updated, ...kept } = info as SessionInfo;
    expect(await chat.manage("get", id)).toMatchObject(kept);
    expect(await chat.manage("getHistory", id)).toEqual(expected.manager.history);
    expect(await chat.callIn(id, "freezeSystemPrompt")).toBe(expected.manager.prompt);
    expect(await chat.callIn("long", "getHistory")).toEqual(expected.long);

    await chat.call("appendMessage", { id: "new", role: "user", parts: [] });
    await workerd.stop();
    expect(((await chat.call("getHistory")) as SessionMessage[]).map(({ id }) => id)).toEqual([
      ...expected.history.map(({ id }) => id),
      "new",
    ]);
    const tables = Object.keys(await chat.tables());
    expect(tables.filter((name) => name.includes("before_upgrade"))).toEqual([]);
    // The agent's own tables are not ours.
    expect(tables).toEqual(expect.arrayContaining(["cf_agents_state", "cf_agents_schedules"]));
  });
});

function replaceDatabase(folder: string, database: Uint8Array): void {
  const [file = ""] = readdirSync(folder).filter((name) => /^[0-9a-f]{64}\.sqlite$/.test(name));
  for (const suffix of ["-wal", "-shm"]) rmSync(join(folder, file + suffix), { force: true });
  writeFileSync(join(folder, file), database);
}

// The time of a summary was that of the read.
function withoutTime({ createdAt, ...message }: SessionMessage): object {
  return message.id.startsWith("compaction_") ? message : { ...message, createdAt };
}
