import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makeFastFolder } from "../helpers/fast-folder.js";

const VARIABLE = "STEMMA_TEST_RUN";

/** What the files of all tests take at once, and some more. */
const ROOM = 2 ** 33;

/** What is written down in the folder of a server that serves the whole run. */
export interface SharedServer {
  readonly port: number;
  readonly pid: number;
  readonly folder: string;
}

/** A folder that all processes of one test run share. */
export function runFolder(): string {
  const folder = process.env[VARIABLE];
  if (folder === undefined) throw new Error("This test needs the global setup of vitest.config.ts.");
  return folder;
}

/** Global setup of vitest: makes the folder, in which all temporary files of the run are, and afterwards stops what was started in it. */
export default function setup(): () => Promise<void> {
  const folder = makeFastFolder(ROOM);
  process.env[VARIABLE] = folder;
  process.env.TMPDIR = join(folder, "tmp");
  mkdirSync(process.env.TMPDIR);
  // Servers that do not run as root reach their own folders in it.
  for (const each of [folder, process.env.TMPDIR]) chmodSync(each, 0o711);
  return async () => {
    const records = readdirSync(folder)
      .map((name) => join(folder, name, "server.json"))
      .filter((file) => existsSync(file));
    await Promise.all(records.map((file) => stop(JSON.parse(readFileSync(file, "utf8")) as SharedServer)));
    rmSync(folder, { recursive: true, force: true });
  };
}

// To Postgres, SIGINT means to end at once, whoever is connected, with a clean shutdown.
async function stop({ pid, folder }: SharedServer): Promise<void> {
  for (let signal: NodeJS.Signals | 0 = "SIGINT"; ; signal = 0) {
    try {
      process.kill(pid, signal);
    } catch {
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  rmSync(folder, { recursive: true, force: true });
}
