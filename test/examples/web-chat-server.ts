import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../package/manifest.js";

const FOLDER = join(ROOT, "examples/web-chat");

/** True where the example's libraries are installed. In CI they must be. */
export function isInstalled(): boolean {
  const found =
    existsSync(join(FOLDER, "node_modules/vite")) && existsSync(join(ROOT, "packages/stemma/dist/ai-sdk.js"));
  if (!found && process.env.CI) throw new Error("Install the example: npm ci --prefix examples/web-chat");
  return found;
}

/** Checks the types of the example, by the compiler that is the fastest, and builds its page as its own command does. */
export async function build(): Promise<void> {
  const run = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: FOLDER });
  await Promise.all([
    run(join(ROOT, "compat/node_modules/typescript-7/bin/tsc"), "--noEmit"),
    run("node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"),
  ]);
}

/** The example's server, which can be killed and started again under the same address. */
export class WebChat {
  #child: ChildProcess | null = null;
  #port = "0";
  url = "";

  /** `pace`: milliseconds between two words of an answer. */
  constructor(
    private readonly database: string,
    private readonly pace: number,
  ) {}

  async start(): Promise<void> {
    const child = spawn(process.execPath, ["--import", "tsx", "server/main.ts"], {
      cwd: FOLDER,
      env: {
        ...process.env,
        DATABASE: this.database,
        PORT: this.#port,
        OFFLINE_PACE: String(this.pace),
        STEMMA_MODEL: "",
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    this.url = await new Promise((resolve, reject) => {
      child.stdout.on("data", (data: Buffer) => {
        const url = /http:\S+/.exec(String(data))?.[0];
        if (url !== undefined) resolve(url);
      });
      child.once("exit", (code) => reject(new Error(`The server ended with ${code}.`)));
    });
    this.#port = new URL(this.url).port;
  }

  /** Under the same address, with nothing stored. */
  async startAnew(): Promise<void> {
    await this.kill();
    for (const end of ["", "-wal", "-shm"]) rmSync(this.database + end, { force: true });
    await this.start();
  }

  /** `kill -9`, or another signal. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }
}
