import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { ENGINES, type Server, startServer } from "../../test/postgres/engines.js";
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

/** Runs the rows in their order, says each figure as soon as it is known, and gives how many missed their targets. */
export async function runRows({ folder: programs, quick, only, on, publish }: Run): Promise<number> {
  const chosen = ROWS.filter(({ number }) => only === undefined || only.includes(String(number)));
  const folder = mkdtempSync(join(tmpdir(), "stemma-reliability-"));
  const engine = ENGINES.find(({ binaries }) => binaries !== null);
  const isOn = (name: string) => on?.includes(name) ?? true;
  const needsServer = isOn("Postgres") && chosen.some(({ sizes }) => sizes.Postgres !== undefined);
  let server: Server | undefined;
  const figures: Figure[] = [];
  const machine = { node: process.version, cpu: `${cpus().length} × ${cpus()[0]?.model}`, load: loadavg()[0] ?? 0 };
  try {
    if (needsServer && engine !== undefined) server = await startServer(engine);
    for (const row of chosen) {
      for (const [name, sizes] of Object.entries(row.sizes)) {
        const size = sizes[quick ? 1 : 0];
        if (size === 0 || !isOn(name)) continue;
        const started = performance.now();
        const place = mkdtempSync(join(folder, "row-"));
        const result = await runRow(
          row,
          [String(ROWS.indexOf(row)), name, String(size), place, server?.url ?? ""],
          programs,
        );
        rmSync(place, { recursive: true, force: true });
        const seconds = Math.round((performance.now() - started) / 100) / 10;
        const { number, title, target } = row;
        figures.push({ number, title, target, engine: name as Engine, size, seconds, ...commit(), machine, ...result });
        printFigure(figures.at(-1) as Figure);
        saveFigures(figures);
        // Kept as it goes: a whole run takes long.
        if (publish) publishFigures(figures);
      }
    }
  } finally {
    // The server's process does not keep this one alive while it ends.
    const waiting = setInterval(() => {}, 1_000);
    await server?.stop();
    clearInterval(waiting);
    rmSync(folder, { recursive: true, force: true });
  }
  const missed = figures.filter(({ met }) => !met).length;
  const seconds = figures.reduce((sum, figure) => sum + figure.seconds, 0);
  console.log(
    `${figures.length - missed} of ${figures.length} figures meet their targets, in ${seconds.toFixed(0)} s.`,
  );
  return missed;
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
