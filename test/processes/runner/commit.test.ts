// Several processes save one session at the same time, and one of them is killed in the middle.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FileSessionStorage } from "../../../packages/stemma/src/agent.js";
import { bundle } from "../../runner/bundle.js";

/** `STEMMA_KILLS=500 npx vitest run runner/kill runner/commit` makes them 300. */
const ROUNDS = process.env.STEMMA_KILLS === undefined ? 30 : 300;
const LIVING = 3;

let program: string;
let directory: string;
const writers: Writer[] = [];
beforeAll(async () => {
  program = join(await bundle("commit", ["test/runner/commit-child.ts"]), "commit-child.mjs");
  directory = mkdtempSync(join(tmpdir(), "stemma-commits-"));
});
afterAll(() => {
  for (const writer of writers) writer.end();
  rmSync(directory, { recursive: true, force: true });
});

class Writer {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(killAt: number) {
    this.#child = spawn(process.execPath, [program, directory, String(killAt)], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  }

  /** The next word that it says; "killed" when there is none. */
  async heard(): Promise<string> {
    const { done, value } = await this.#lines.next();
    return done ? "killed" : value;
  }

  tell(line: string): Promise<string> {
    this.#child.stdin?.write(`${line}\n`);
    return this.heard();
  }

  end(): void {
    this.#child.stdin?.end();
  }
}

describe("several processes that save one session", () => {
  it(`store what the one was told that is acknowledged, and nothing of those refused, in ${ROUNDS} rounds with a kill each`, async () => {
    const storage = new FileSessionStorage(directory);
    const usage = { input_tokens: 0, output_tokens: 0 };
    await storage.save({ id: "s", messages: [], usage, metadata: {}, createdAt: 1, updatedAt: 1 });
    for (let index = 0; index < LIVING; index += 1) writers.push(new Writer(0));
    for (const writer of writers) expect(await writer.heard()).toBe("ready");
    let kills = 0;
    for (let round = 1; round <= ROUNDS; round += 1) {
      // A save that nobody disturbs makes about twenty calls.
      const victim = new Writer(1 + (round % 25));
      expect(await victim.heard()).toBe("ready");
      const all = [...writers, victim];
      for (const writer of writers) expect(await writer.tell("load")).toBe("loaded");
      const marks = all.map((_, index) => `${round}-${index}`);
      const answers = await Promise.all(all.map((writer, index) => writer.tell(marks[index] as string)));
      victim.end();
      if (answers.at(-1) === "killed") kills += 1;

      const stored = (await new FileSessionStorage(directory).load("s"))?.metadata.mark;
      const place = `round ${round}: ${answers.join(", ")}; stored is ${stored}`;
      const acknowledged = marks.filter((_, index) => answers[index] === "saved");
      expect(answers.slice(0, -1).filter((answer) => answer !== "saved" && answer !== "SESSION_CONFLICT")).toEqual([]);
      expect(acknowledged.length, place).toBeLessThanOrEqual(1);
      // Whoever is killed may have come as far as to save.
      const possible = acknowledged.length === 1 ? acknowledged : answers.at(-1) === "killed" ? [marks.at(-1)] : [];
      expect(possible, place).toContain(stored);
    }
    expect(kills).toBeGreaterThan(ROUNDS / 4);
    // What the last one left behind goes with a reading, once its process is no longer there to be seen.
    const left = async () => {
      await storage.load("s");
      return readdirSync(directory);
    };
    await expect.poll(left, { timeout: 10_000 }).toEqual(["s.json"]);
  }, 300_000);

  it("acknowledge one of two first saves, where both of them had loaded nothing, 100 times of 100", async () => {
    const storage = new FileSessionStorage(directory);
    const both = [new Writer(0), new Writer(0)];
    writers.push(...both);
    for (const writer of both) expect(await writer.heard()).toBe("ready");
    for (let round = 1; round <= 100; round += 1) {
      const id = `new-${round}`;
      for (const writer of both) expect(await writer.tell(`new ${id}`)).toBe("nothing");
      const answers = await Promise.all(both.map((writer, index) => writer.tell(`${round}-${index}`)));
      expect(answers.toSorted()).toEqual(["SESSION_CONFLICT", "saved"]);
      const stored = await storage.load(id);
      expect(stored?.metadata).toEqual({ mark: `${round}-${answers.indexOf("saved")}` });
    }
  });
});
