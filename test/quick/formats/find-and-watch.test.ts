import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { findSessionFiles } from "../../../packages/cli/src/commands/import.js";
import { watchFiles } from "../../../packages/cli/src/import/import-run.js";
import { jsonl } from "../../cli/read.js";
import { temporaryFolder } from "../../cli/run.js";
import { Transcript } from "../../formats/claude-code-lines.js";

const folder = temporaryFolder();

function write(path: string, text = ""): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

describe("looking for sessions", () => {
  it("finds the files of each program, the one that is not compressed of two", async () => {
    const claude = write("home/.claude/projects/-x/1.jsonl", "12345");
    const agent = write("home/.claude/projects/-x/1/subagents/agent-a.jsonl");
    write("home/.claude/projects/-x/1/tool-results/t.txt");
    const plain = write("home/.codex/sessions/2026/10/01/rollout-a.jsonl");
    write("home/.codex/sessions/2026/10/01/rollout-a.jsonl.zst");
    const archived = write("home/.codex/archived_sessions/rollout-b.jsonl.zst");
    const found = await findSessionFiles({}, join(folder, "home"));
    expect(found.map(({ program, files, bytes }) => [program, files, bytes])).toEqual([
      ["Claude Code", [agent, claude].sort(), 5],
      ["Codex", [plain], 0],
      ["Codex", [archived], 0],
    ]);
  });

  it("looks where the environment says", async () => {
    const claude = write("elsewhere/claude/projects/-x/1.jsonl");
    const codex = write("elsewhere/codex/sessions/rollout-a.jsonl");
    const env = { CLAUDE_CONFIG_DIR: join(folder, "elsewhere/claude"), CODEX_HOME: join(folder, "elsewhere/codex") };
    const found = await findSessionFiles(env, join(folder, "nobody"));
    expect(found.flatMap(({ files }) => files)).toEqual([claude, codex]);
  });
});

describe("watching files", () => {
  it("reads a file again when it has changed, and ends when it is told to", async () => {
    const transcript = new Transcript("11111111-1111-4111-8111-111111111111");
    transcript.user(null, "Hello");
    const file = write("watched.jsonl", jsonl(transcript.lines));
    const stop = new AbortController();
    let reads = 0;
    await watchFiles(
      async () => [{ path: file }, { path: join(folder, "not-there.jsonl") }],
      async () => {
        reads += 1;
        if (reads === 3) stop.abort();
        else appendFileSync(file, "{}\n");
        return true;
      },
      { signal: stop.signal, interval: 1 },
    );
    expect(reads).toBe(3);
  });
});
