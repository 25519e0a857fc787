// Files that are larger than what their import may hold. STEMMA_LARGE_FILE=2000 writes files of 2 GB.
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { buildCommand, temporaryFolder } from "../../cli/run.js";
import { writeLargeExport, writeLargeRollout, writeLargeTranscript } from "../../formats/large-file.js";

const isShown = process.env.STEMMA_LARGE_FILE !== undefined;
const MEGABYTES = Number(process.env.STEMMA_LARGE_FILE ?? 40);
/** Characters of each text in it. */
const LENGTH = Number(process.env.STEMMA_LARGE_TEXT ?? 4000);
/** Megabytes that the process may have in memory at its peak, however large the file is. The program itself takes 77. */
const MOST = 160;

const folder = temporaryFolder();
let program: string;
beforeAll(async () => {
  program = await buildCommand(folder);
});

it.each([
  ["a session of Claude Code", "22222222-2222-4222-8222-222222222222.jsonl", writeLargeTranscript],
  ["a session of Codex", "rollout.jsonl", writeLargeRollout],
  ["an export of ChatGPT", "conversations.json", writeLargeExport],
] as const)(
  `imports %s of ${MEGABYTES} MB with less than ${MOST} MB of memory`,
  { timeout: 3_600_000 },
  async (name, path, write) => {
    const file = join(folder, path);
    const { sessions, messages } = write(file, { bytes: MEGABYTES * 1e6, length: LENGTH });
    const db = join(folder, "large.db");
    const { out, peak } = await importing(db, file);
    if (isShown) console.log(`${name}: at most ${Math.round(peak)} MB`);
    const reports = out.map((line) => JSON.parse(line));
    expect(reports).toHaveLength(sessions);
    const sum = (field: string) => reports.reduce((total, report) => total + report[field], 0);
    expect([sum("messages"), sum("inserted"), sum("updated")]).toEqual([messages, messages, 0]);
    for (const { skipped } of reports) expect(skipped).toEqual([]);
    expect(peak).toBeLessThan(MOST);
    for (const used of [file, db]) rmSync(used);
  },
);

/** Runs the command. Gives its lines and the most memory that it had, in megabytes. */
async function importing(db: string, file: string): Promise<{ out: string[]; peak: number }> {
  const child = spawn(process.execPath, [program, "--db", db, "--json", "import", file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  let peak = 0;
  child.stdout.setEncoding("utf8").on("data", (text) => {
    out += text;
  });
  const look = setInterval(() => {
    peak = Math.max(peak, peakOf(child.pid));
  }, 50);
  const code = await new Promise((done) => child.once("close", done));
  clearInterval(look);
  expect(code).toBe(0);
  return { out: out.split("\n").filter((line) => line !== ""), peak };
}

// The system counts the peak itself, so that nothing is missed between two looks.
function peakOf(pid: number | undefined): number {
  try {
    const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kilobytes ?? 0) / 1024;
  } catch {
    return 0;
  }
}
