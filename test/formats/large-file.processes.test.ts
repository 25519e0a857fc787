// A file of one session, larger than what its import may hold. STEMMA_LARGE_FILE=2000 writes one of 2 GB.
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { buildCommand, temporaryFolder } from "../cli/run.js";
import { writeLargeTranscript } from "./large-file.js";

const MEGABYTES = Number(process.env.STEMMA_LARGE_FILE ?? 60);
const LINE = Number(process.env.STEMMA_LARGE_LINE ?? 4000);
/** Megabytes that the process may have in memory at its peak. The aim is 200, of which the program itself takes 77. */
const MOST = 260;

const folder = temporaryFolder();
let program: string;
beforeAll(async () => {
  program = await buildCommand(folder);
});

it(`imports a session of ${MEGABYTES} MB with less than ${MOST} MB of memory`, { timeout: 3_600_000 }, async () => {
  const file = join(folder, "22222222-2222-4222-8222-222222222222.jsonl");
  const messages = writeLargeTranscript(file, MEGABYTES * 1e6, LINE);
  const db = join(folder, "large.db");
  const { out, peak } = await importing(db, file);
  const [report] = out.map((line) => JSON.parse(line));
  expect(report).toMatchObject({ messages, inserted: messages, updated: 0, kept: {}, skipped: [] });
  expect(out).toHaveLength(1);
  expect(peak).toBeLessThan(MOST);
  rmSync(file);
});

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
  if (process.env.STEMMA_LARGE_FILE !== undefined) console.log(`at most ${peak} MB`);
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
