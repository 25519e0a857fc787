import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { claudeSessionStore } from "../../../packages/stemma/src/claude.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { commandLine, temporaryFolder } from "../../cli/run.js";
import { Transcript } from "../../formats/claude-code-lines.js";
import { allResults, call, connect, failureOf } from "../../mcp/connect.js";

const folder = temporaryFolder();
const database = commandLine(folder, "imported.db");
let store: Store;

const CODEX = "019b0000-0000-7000-8000-000000000001";

function write(name: string, lines: readonly object[]): string {
  const path = join(folder, name);
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return path;
}

function claudeCode(id: string, cwd: string, text: string): string {
  const transcript = new Transcript(id);
  const asked = transcript.user(null, text, { cwd });
  // The model works in a folder below.
  transcript.assistant(asked, `msg_${id}`, { type: "text", text: `Wheels of ${id}` }, { cwd: `${cwd}/src` });
  return write(`${id}.jsonl`, [{ type: "file-history-snapshot", messageId: asked, snapshot: {} }, ...transcript.lines]);
}

function codex(id: string, cwd: string, text: string): string {
  const timestamp = "2026-10-01T10:00:00.000Z";
  const content = [{ type: "input_text", text }];
  return write(`rollout-${id}.jsonl`, [
    { timestamp, type: "session_meta", payload: { id, cwd, cli_version: "1.0" } },
    { timestamp, type: "event_msg", payload: { type: "user_message", message: text } },
    { timestamp, type: "response_item", payload: { type: "message", role: "user", content } },
  ]);
}

beforeAll(async () => {
  const files = [
    claudeCode("claude-mill", "/home/ada/mill", "Where are the wheels?"),
    claudeCode("claude-windmill", "/home/ada/windmill", "Which wheels turn?"),
    codex(CODEX, "C:\\work\\mill\\", "Paint the wheels"),
    codex("codex-below", "/home/ada/mill/docs", "Describe the wheels"),
  ];
  for (const file of files) await database.ok("import", file);
  store = sqlite(database.db);
});
afterAll(() => store.close());

describe("an MCP server of a project", () => {
  it.each([
    ["mill", ["claude-mill", CODEX]],
    ["windmill", ["claude-windmill"]],
    ["docs", ["codex-below"]],
    ["Mill", []],
    ["/home/ada/mill", []],
  ])("shows what was imported of folders called %s", async (project, ids) => {
    const client = await connect(store, { project });
    const expected = ids.map((id) => `session/${id}`).toSorted();
    for (const tool of ["list_sessions", "recent"]) {
      const { sessions } = await call<{ sessions: { id: string }[] }>(client, tool);
      expect(sessions.map(({ id }) => id).toSorted()).toEqual(expected);
    }
    const found = await allResults(client, { query: "wheels" });
    expect([...new Set(found.map(({ metadata }) => metadata.session))].toSorted()).toEqual(expected);
    for (const id of expected) expect(await call(client, "fetch", { id })).toMatchObject({ id });
    if (!ids.includes("claude-windmill")) {
      expect(await failureOf(client, "fetch", { id: "session/claude-windmill" })).toContain("no session");
    }
    await client.close();
  });

  it("shows what the Claude Agent SDK mirrored of a folder of that name", async () => {
    const sessionId = "00000000-0000-4000-8000-00000000aaaa";
    const transcript = new Transcript(sessionId);
    transcript.user(null, "Mirrored wheels", { cwd: "/srv/mirrored" });
    await claudeSessionStore(store).append({ projectKey: "-srv-mirrored", sessionId }, transcript.lines as never);
    const client = await connect(store, { project: "mirrored" });
    const [found] = await allResults(client, { query: "wheels" });
    expect(found?.metadata.session).toBe(`session/claude%2F-srv-mirrored%2F${sessionId}`);
    await client.close();
  });

  it("shows a session whose file named its folder only after a first import", async () => {
    const transcript = new Transcript("late");
    transcript.user(null, "Late wheels", { cwd: undefined });
    const path = write("late.jsonl", transcript.lines);
    await database.ok("import", path);
    transcript.user(transcript.lines[0]?.uuid as string, "More wheels", { cwd: "/home/ada/late" });
    write("late.jsonl", transcript.lines);
    await database.ok("import", path);
    const client = await connect(store, { project: "late" });
    const { sessions } = await call<{ sessions: { id: string }[] }>(client, "list_sessions");
    expect(sessions.map(({ id }) => id)).toEqual(["session/late"]);
    await client.close();
  });
});
