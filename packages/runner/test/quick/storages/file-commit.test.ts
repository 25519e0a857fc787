// Two writers of one file, each of them stopped before any of its system calls.
import { AsyncLocalStorage } from "node:async_hooks";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import fs, { open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commitFile, removeFile } from "../../../src/storages/file-commit.js";

interface Writer {
  calls: number;
  /** Stops before the call of this number. */
  readonly stopAt: number;
  readonly stopped: PromiseWithResolvers<void>;
  readonly resumed: PromiseWithResolvers<void>;
}

const writers = new AsyncLocalStorage<Writer>();
const CALLS = ["access", "open", "readdir", "rename", "rm"] as const;
const HANDLE_CALLS = ["writeFile", "sync", "stat", "close"] as const;

let folder: string;
const originals: (() => void)[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "stemma-commit-"));
  const handle = await open(join(folder, "any"), "w");
  const prototype = Object.getPrototypeOf(handle) as object;
  await handle.close();
  for (const name of CALLS) intercept(fs, name);
  for (const name of HANDLE_CALLS) intercept(prototype, name);
  syncBuiltinESMExports();
});
afterAll(() => {
  for (const restore of originals) restore();
  syncBuiltinESMExports();
  rmSync(folder, { recursive: true, force: true });
});

function intercept(target: object, name: string): void {
  const calls = target as Record<string, (...args: unknown[]) => unknown>;
  const original = calls[name] as (...args: unknown[]) => unknown;
  originals.push(() => {
    calls[name] = original;
  });
  calls[name] = async function (this: unknown, ...args: unknown[]) {
    const writer = writers.getStore();
    if (writer !== undefined) {
      writer.calls += 1;
      if (writer.calls === writer.stopAt) {
        writer.stopped.resolve();
        await writer.resumed.promise;
      }
    }
    return original.apply(this, args);
  };
}

function withResolvers(): PromiseWithResolvers<void> {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve, reject: () => {} };
}

interface PromiseWithResolvers<T> {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: () => void;
}

/** Starts a writer. `outcome` is settled when it is done; `reached` when it is done, or stopped. */
function start(stopAt: number, work: () => Promise<unknown>) {
  const writer: Writer = { calls: 0, stopAt, stopped: withResolvers(), resumed: withResolvers() };
  const outcome = writers.run(writer, () =>
    work().then(
      () => "saved" as const,
      (error: Error) => (error.message === "conflict" ? ("refused" as const) : Promise.reject(error)),
    ),
  );
  const reached = Promise.race([writer.stopped.promise.then(() => true), outcome.then(() => false)]);
  return { outcome, reached, resume: () => writer.resumed.resolve() };
}

let file = 0;
function newFile() {
  file += 1;
  const path = join(folder, `${file}.json`);
  writeFileSync(path, "old");
  const shared = { path, draftPrefix: join(folder, `.${file}.`), patience: 5 };
  const check = async () => {
    if (readFileSync(path, { encoding: "utf8", flag: "a+" }) !== "old") throw new Error("conflict");
  };
  const drafts = () => readdirSync(folder).filter((name) => name.startsWith(`.${file}.`));
  return {
    path,
    drafts,
    replace: (text: string) => () => commitFile({ ...shared, text, check }),
    remove: () => removeFile({ ...shared, check }),
  };
}

describe("commitFile", () => {
  it("lets one of two writers win, wherever either of them is stopped for as long as the other one goes on", async () => {
    let [a, b] = [0, 0];
    for (let stopA = 1, more = true; more; stopA += 1) {
      more = false;
      for (let stopB = 1, stopping = true; stopping; stopB += 1) {
        const { path, replace, drafts } = newFile();
        const first = start(stopA, replace("a"));
        const stoppedA = await first.reached;
        const second = start(stopB, replace("b"));
        stopping = await second.reached;
        first.resume();
        const resultA = await first.outcome;
        second.resume();
        const resultB = await second.outcome;
        const place = `a stopped at ${stopA}, b at ${stopB}`;
        expect([resultA, resultB].sort(), place).toEqual(["refused", "saved"]);
        expect(readFileSync(path, "utf8"), place).toBe(resultA === "saved" ? "a" : "b");
        expect(drafts(), place).toEqual([]);
        more ||= stoppedA;
        [a, b] = [a + Number(resultA === "saved"), b + Number(resultB === "saved")];
      }
    }
    // Or nothing was tried.
    expect(a).toBeGreaterThan(5);
    expect(b).toBeGreaterThan(5);
  });

  it("lets the next writer save, wherever the one before it was killed", async () => {
    for (let stop = 1, more = true; more; stop += 1) {
      const { path, replace } = newFile();
      const dead = start(stop, replace("dead"));
      more = await dead.reached;
      const committed = readFileSync(path, "utf8") === "dead";
      const next = await start(0, replace("next")).outcome;
      expect(next, `killed at ${stop}`).toBe(committed ? "refused" : "saved");
      // And should it be taken for dead only.
      dead.resume();
      await dead.outcome;
      expect(readFileSync(path, "utf8")).toBe(committed ? "dead" : "next");
    }
  });

  it("brings back nothing that was removed, wherever the writer was stopped", async () => {
    for (let stop = 1, more = true; more; stop += 1) {
      const { path, replace, remove } = newFile();
      const writer = start(stop, replace("new"));
      more = await writer.reached;
      const committed = readFileSync(path, "utf8") === "new";
      const removed = await start(0, remove).outcome;
      writer.resume();
      await writer.outcome;
      expect(removed).toBe(committed ? "refused" : "saved");
      // The check of a writer that begins anew leaves an empty file.
      expect(readFileSync(path, { encoding: "utf8", flag: "a+" }), `stopped at ${stop}`).toBe(committed ? "new" : "");
    }
  });
});
