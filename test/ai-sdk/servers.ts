import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Server processes on one database, which are killed and started again. */
export class Servers {
  /** What the servers complained of. */
  readonly complaints: string[] = [];
  kills = 0;
  readonly #children: { process: ChildProcess; url: string }[] = [];

  constructor(
    private readonly program: string,
    private readonly args: readonly string[],
  ) {}

  /** The URL of one of them. */
  get url(): string {
    const one = this.#children[Math.floor(Math.random() * this.#children.length)];
    return one?.url ?? "http://127.0.0.1:9";
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [this.program, ...this.args], { stdio: ["pipe", "pipe", "inherit"] });
    await new Promise<void>((resolve, reject) => {
      child.on("exit", () => reject(new Error("A server ended before it began.")));
      createInterface({ input: child.stdout }).on("line", (line) => {
        if (!line.startsWith("url: ")) return this.complaints.push(line);
        this.#children.push({ process: child, url: line.slice("url: ".length) });
        return resolve();
      });
    });
  }

  /** Kills one, and starts another. */
  async restart(): Promise<void> {
    await this.#kill();
    this.kills += 1;
    await this.start();
  }

  async stop(): Promise<void> {
    while (this.#children.length > 0) await this.#kill();
  }

  async #kill(): Promise<void> {
    const child = this.#children.shift()?.process;
    if (child === undefined) return;
    const ended = new Promise((resolve) => child.on("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }
}
