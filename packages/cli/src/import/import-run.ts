import { stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { StemmaError } from "@stemma/model";
import { ifThere } from "@stemma/model/files";
import { type CommandContext, writeJson } from "../context.js";
import { describeError, reportError } from "../errors.js";
import { exitCodeOf } from "../io.js";
import { count } from "../text.js";
import { type ImportFileOptions, importFile } from "./import-file.js";
/** A file to import, and its format where its place tells it. */
export interface SourceFile {
  readonly path: string;
  readonly format?: string | undefined;
}

/** Codes of what is wrong with the database for a while, and not with a file. */
const PASSING = ["STORE_LOCKED", "CONNECTION_LOST"];

/** Imports files one after the other. What is wrong with one does not keep the others out. */
export class ImportRun {
  readonly #files = new Set<string>();
  #inserted = 0;
  #updated = 0;

  constructor(
    private readonly context: CommandContext,
    private readonly options: ImportFileOptions,
  ) {}

  /** Imports each file once. Stopped before the last, it says so, and ends with the exit code of the signal. */
  async once(files: readonly SourceFile[]): Promise<void> {
    const { signal } = this.options;
    for (const file of files) if (!signal.aborted) await this.#read(file, false);
    if (!signal.aborted) return;
    const { io, json } = this.context;
    const message = `Stopped by ${signal.reason}. What was told is stored; import again to go on.`;
    io.writeError(json ? `${JSON.stringify({ error: { code: "STOPPED", message } })}\n` : `stemma: ${message}\n`);
    io.fail(exitCodeOf(signal));
  }

  /** Imports what is there and what comes, until it is stopped, and then says how much that was. */
  async watch(list: () => Promise<readonly SourceFile[]>): Promise<void> {
    await watchFiles(list, (file) => this.#read(file, true), this.options);
    const { io, json } = this.context;
    const watched = { files: this.#files.size, inserted: this.#inserted, updated: this.#updated };
    if (json) return writeJson(io, { watched });
    const completed = this.#updated > 0 ? `, ${this.#updated.toLocaleString("en")} completed` : "";
    await io.write(
      `Watched ${count(this.#files.size, "file")}: ${count(this.#inserted, "message")} added${completed}\n`,
    );
  }

  // False for a file that should be read again although it did not change.
  async #read({ path, format }: SourceFile, isWatched: boolean): Promise<boolean> {
    const { io, json } = this.context;
    const options = { ...this.options, isWatched, format: this.options.format ?? format };
    try {
      const { inserted, updated } = await importFile(this.context, path, options);
      this.#files.add(path);
      this.#inserted += inserted;
      this.#updated += updated;
      return true;
    } catch (error) {
      io.fail();
      if (json) await writeJson(io, { file: path, error: describeError(error) });
      else reportError(io, error, { prefix: `${path}: ` });
      return !(StemmaError.isInstance(error) && PASSING.includes(error.code));
    }
  }
}

interface WatchFilesOptions {
  /** Ends the watch. */
  signal: AbortSignal;
  /** Milliseconds between two looks. Default 1000. */
  interval?: number | undefined;
}

/**
 * Calls `read` for each file that `list` gives, and again whenever one has changed, until the signal ends it. A file for
 * which `read` resolves to false is read again at the next look. Reading takes at most a quarter of the time: after a look
 * that took long, the next one waits longer.
 */
export async function watchFiles<F extends { readonly path: string }>(
  list: () => Promise<readonly F[]>,
  read: (file: F) => Promise<boolean>,
  { signal, interval = 1000 }: WatchFilesOptions,
): Promise<void> {
  const seen = new Map<string, string>();
  while (!signal.aborted) {
    const started = performance.now();
    for (const file of await list()) {
      if (signal.aborted) return;
      const state = await stateOf(file.path);
      if (state === null || seen.get(file.path) === state) continue;
      if (await read(file)) seen.set(file.path, state);
    }
    await pause(Math.max(interval, 3 * (performance.now() - started)), signal);
  }
}

/** A text that is another one once the file has changed, or another one was put in its place; null for a file that is not there. */
async function stateOf(path: string): Promise<string | null> {
  const found = await ifThere(stat(path));
  return found === null ? null : `${found.size} ${found.mtimeMs} ${found.ino}`;
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(milliseconds, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
