import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { ENGINES, type Server, startServer } from "../../test/postgres/engines.js";
import { inLanes } from "./process.js";
import { type Figure, printFigure, publishFigures, saveFigures } from "./report.js";
import type { Engine, Result, Row } from "./row.js";
import { ROWS } from "./rows.js";

export interface Run {
  /** Where the programs are. */
  readonly folder: string;
  readonly quick: boolean;
  readonly only: readonly string[] | undefined;
  /** The engines; all where it is missing. */
  readonly on: readonly string[] | undefined;
  readonly publish: boolean;
}

interface Job {
  readonly row: Row;
  readonly engine: Engine;
  readonly size: number;
}

/**
 * Runs the rows, as many beside each other as there are processors, and those that measure a time alone, at the end. Says
 * each figure as soon as it is known, and gives how many missed their targets.
 */
export async function runRows({ folder: programs, quick, only, on, publish }: Run): Promise<number> {
  const jobs = jobsOf({ quick, only, on });
  const [together, alone] = [jobs.filter(({ row }) => !row.alone), jobs.filter(({ row }) => row.alone)];
  const folder = mkdtempSync(join(tmpdir(), "stemma-reliability-"));
  const server = ENGINES.find(({ binaries }) => binaries !== null);
  const needsServer = server !== undefined && jobs.some(({ engine }) => engine === "Postgres");
  const figures: Figure[] = [];
  const machine = { node: process.version, cpu: `${cpus().length} × ${cpus()[0]?.model}`, load: loadavg()[0] ?? 0 };
  let running: Server | undefined;
  const begun = performance.now();
  const measure = async ({ row, engine, size }: Job): Promise<void> => {
    const started = performance.now();
    const place = mkdtempSync(join(folder, "row-"));
    const args = [String(ROWS.indexOf(row)), engine, String(size), place, running?.url ?? ""];
    const result = await runRow(row, args, programs);
    rmSync(place, { recursive: true, force: true });
    const seconds = Math.round((performance.now() - started) / 100) / 10;
    const { number, title, target } = row;
    const figure = { number, title, target, engine, size, seconds, ...commit(), machine, ...result };
    figures.push(figure);
    printFigure(figure);
    saveFigures(figures);
    // Kept as it goes: a whole run takes long.
    if (publish) publishFigures(figures);
  };
  try {
    if (needsServer) running = await startServer(server);
    await inLanes(together.length, availableParallelism(), (_, index) => measure(together[index] as Job));
    for (const job of alone) await measure(job);
  } finally {
    // The server's process does not keep this one alive while it ends.
    const waiting = setInterval(() => {}, 1_000);
    await running?.stop();
    clearInterval(waiting);
    rmSync(folder, { recursive: true, force: true });
  }
  const missed = figures.filter(({ met }) => !met).length;
  const seconds = (performance.now() - begun) / 1000;
  console.log(
    `${figures.length - missed} of ${figures.length} figures meet their targets, in ${seconds.toFixed(0)} s.`,
  );
  return missed;
}

function jobsOf({ quick, only, on }: Pick<Run, "quick" | "only" | "on">): Job[] {
  return ROWS.filter(({ number }) => only?.includes(String(number)) ?? true)
    .flatMap((row) =>
      Object.entries(row.sizes).map(([engine, sizes]) => ({
        row,
        engine: engine as Engine,
        size: sizes[quick ? 1 : 0],
      })),
    )
    .filter(({ engine, size }) => size > 0 && (on?.includes(engine) ?? true));
}

// A row that ends without a result has missed.
async function runRow(row: Row, args: readonly string[], programs: string): Promise<Result> {
  const command = [process.execPath, "--expose-gc", join(programs, "run-row.mjs"), ...args];
  // Whoever is not root gets a namespace in which to mount.
  if (row.mounts && process.getuid?.() !== 0) command.unshift("unshare", "--user", "--map-root-user", "--mount");
  const child = spawn(command[0] as string, command.slice(1), { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    errors = (errors + chunk).slice(-4_000);
  });
  const code = await new Promise((resolve) => child.once("close", (number, signal) => resolve(number ?? signal)));
  const last = output.trimEnd().split("\n").at(-1) ?? "";
  if (code === 0 && last.startsWith("{")) return JSON.parse(last) as Result;
  return { figure: `ended with ${code}`, met: false, details: errors };
}

function commit(): { date: string; commit: string } {
  const hash = execFileSync("git", ["rev-parse", "--short=7", "HEAD"], { encoding: "utf8" }).trim();
  return { date: new Date().toISOString().slice(0, 16).replace("T", " "), commit: hash };
}
