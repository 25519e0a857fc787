import { StemmaError } from "../../errors.js";
import type { SessionState, SessionStorage } from "../types.js";
import { assertFileName, invalidId } from "./session-id.js";
import { conflict, parseState, writeState } from "./state-json.js";
import { Versions } from "./versions.js";

// Loaded with the first call, so that this class can be imported where there is no file system.
const files = () => import("node:fs/promises");

/** Bytes in which the version and the id of a state stand. */
const HEAD = 512;
/** A temporary file this old, in milliseconds, belongs to a process that died. */
const ABANDONED = 3_600_000;

/**
 * Sessions as one readable JSON file each, `<directory>/<id>.json`, with mode 0600. A file is written whole or not at all,
 * and is on the disk when `save` resolves. A session that another process wrote since it was read here is not
 * overwritten: `SESSION_CONFLICT`. Each save writes the whole session.
 *
 * A version is written under a name of its own first (`.<id>.<version>.next`, taken by one process only), then renamed
 * over the session's file; a reader completes what a process that died between the two left behind.
 */
export class FileSessionStorage implements SessionStorage {
  readonly #directory: string;
  readonly #versions = new Versions();

  /** The directory is made, with mode 0700, by the first save. */
  constructor(directory: string) {
    if (typeof directory !== "string" || directory === "") {
      throw new StemmaError(
        "INVALID_ARGUMENT",
        { directory },
        "new FileSessionStorage() takes the path of a directory.",
      );
    }
    this.#directory = directory.replace(/(?<=.)\/+$/, "");
  }

  /** Errors: `SESSION_CONFLICT`, `INVALID_SESSION_ID`, `STORE_FAILED`. */
  save(state: SessionState): Promise<void> {
    return this.#versions.exclusive(state.id, async () => {
      const path = this.#path(state.id);
      const expected = this.#versions.expected(state);
      await guarded(state.id, () => this.#write(path, state, expected));
      this.#versions.note(state, expected + 1);
    });
  }

  /** Errors: `CORRUPT_STATE`, `INVALID_SESSION_ID`, `STORE_FAILED`. */
  load(sessionId: string): Promise<SessionState | undefined> {
    return this.#versions.exclusive(sessionId, async () => {
      const path = this.#path(sessionId);
      const found = await guarded(sessionId, () => this.#read(path, sessionId));
      if (found === null) return undefined;
      this.#versions.note(found.state, found.version);
      return found.state;
    });
  }

  delete(sessionId: string): Promise<void> {
    return this.#versions.exclusive(sessionId, async () => {
      const path = this.#path(sessionId);
      const { rm } = await files();
      await guarded(sessionId, async () => {
        await rm(path, { force: true });
        for (const { name } of await this.#leftovers(sessionId)) await rm(this.#inside(name), { force: true });
      });
      this.#versions.forget(sessionId);
    });
  }

  async list(): Promise<string[]> {
    const names = await this.#names();
    return names.filter((name) => /^[^.].*\.json$/.test(name)).map((name) => name.slice(0, -".json".length));
  }

  async #write(path: string, state: SessionState, expected: number): Promise<void> {
    const { link, mkdir, open, rename, rm } = await files();
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const next = this.#next(state.id, expected + 1);
    const temporary = this.#inside(`.${state.id}.${crypto.randomUUID()}.tmp`);
    try {
      const file = await open(temporary, "wx", 0o600);
      try {
        await file.writeFile(writeState(state, expected + 1, 1));
        await file.sync();
      } finally {
        await file.close();
      }
      // Fails when another process is writing the same version.
      await link(temporary, next).catch((error: unknown) => {
        throw codeOf(error) === "EEXIST" ? conflict(state.id) : error;
      });
    } finally {
      await rm(temporary, { force: true });
    }
    const current = await this.#head(path);
    if (current.version !== expected) {
      await rm(next, { force: true });
      throw conflict(state.id);
    }
    if (current.id !== null && current.id !== state.id) {
      await rm(next, { force: true });
      throw invalidId(state.id, `The file of session "${state.id}" is that of "${current.id}" on this file system.`);
    }
    await rename(next, path).catch((error: unknown) => completed(error));
    await this.#syncDirectory();
  }

  async #read(path: string, id: string): Promise<{ state: SessionState; version: number } | null> {
    const { constants, open, rename, rm, stat } = await files();
    const current = await this.#head(path);
    const leftovers = await this.#leftovers(id);
    for (const { name, version } of leftovers) {
      const leftover = this.#inside(name);
      if (version === current.version + 1) await rename(leftover, path).catch((error: unknown) => completed(error));
      else if (version !== null && version <= current.version) await rm(leftover, { force: true });
      else if (version === null) {
        const age = Date.now() - (await stat(leftover).catch(() => ({ mtimeMs: Date.now() }))).mtimeMs;
        if (age > ABANDONED) await rm(leftover, { force: true });
      }
    }
    try {
      // A link could lead out of the directory.
      const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
      try {
        const found = parseState(await file.readFile("utf8"), id);
        // On a file system that does not tell upper from lower case, this is another session.
        return found.state.id === id ? found : null;
      } finally {
        await file.close();
      }
    } catch (error) {
      if (codeOf(error) === "ENOENT") return null;
      throw error;
    }
  }

  /** Version and id of the stored session; version 0 when there is none. */
  async #head(path: string): Promise<{ version: number; id: string | null }> {
    const { open } = await files();
    try {
      const file = await open(path, "r");
      try {
        const { buffer, bytesRead } = await file.read(new Uint8Array(HEAD), 0, HEAD, 0);
        const text = new TextDecoder().decode(buffer.subarray(0, bytesRead));
        const [, version = "0", id = null] = /^\{\s*"version":\s*(\d+),\s*"id":\s*"([^"]*)"/.exec(text) ?? [];
        return { version: Number(version), id };
      } finally {
        await file.close();
      }
    } catch (error) {
      if (codeOf(error) === "ENOENT") return { version: 0, id: null };
      throw error;
    }
  }

  /** Files that writers of a session have under way, or that died with them. */
  async #leftovers(id: string): Promise<{ name: string; version: number | null }[]> {
    const prefix = `.${id}.`;
    const found: { name: string; version: number | null }[] = [];
    for (const name of await this.#names()) {
      if (!name.startsWith(prefix)) continue;
      const rest = name.slice(prefix.length);
      const version = /^(\d+)\.next$/.exec(rest)?.[1];
      if (version !== undefined) found.push({ name, version: Number(version) });
      else if (/^[0-9a-f-]{36}\.tmp$/.test(rest)) found.push({ name, version: null });
    }
    return found;
  }

  async #names(): Promise<string[]> {
    const { readdir } = await files();
    try {
      return await readdir(this.#directory);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return [];
      throw failed(this.#directory, error);
    }
  }

  // Without it the new name may be lost with the power.
  async #syncDirectory(): Promise<void> {
    const { open } = await files();
    const directory = await open(this.#directory, "r").catch(() => null);
    // Windows cannot, and need not.
    await directory?.sync().catch(() => {});
    await directory?.close();
  }

  #path(id: string): string {
    assertFileName(id);
    return this.#inside(`${id}.json`);
  }

  #next(id: string, version: number): string {
    return this.#inside(`.${id}.${version}.next`);
  }

  #inside(name: string): string {
    return `${this.#directory}/${name}`;
  }
}

// A reader was faster to put the new version in its place.
function completed(error: unknown): void {
  if (codeOf(error) !== "ENOENT") throw error;
}

async function guarded<T>(id: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (StemmaError.isInstance(error)) throw error;
    throw failed(id, error);
  }
}

function failed(what: string, cause: unknown): StemmaError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new StemmaError("STORE_FAILED", { what }, `The session files cannot be used: ${why}`, { cause });
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}
