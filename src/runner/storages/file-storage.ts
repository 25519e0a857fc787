import { StemmaError } from "../../errors.js";
import type { SessionState, SessionStorage } from "../types.js";
import { clearTemporaries, codeOf, commitFile, files } from "./file-commit.js";
import { assertFileName, invalidId, isFileName } from "./session-id.js";
import { conflict, parseState, writeState } from "./state-json.js";
import { Versions } from "./versions.js";

const ENDING = ".json";
/** Bytes in which the version and the id of a state stand. */
const HEAD = 512;

/**
 * Sessions as one readable JSON file each, `<directory>/<id>.json`, with mode 0600. A file is written whole or not at all,
 * and is on the disk when `save` resolves. A session that another process wrote since it was read here is not
 * overwritten: `SESSION_CONFLICT`. Each save writes the whole session.
 */
export class FileSessionStorage implements SessionStorage {
  readonly #directory: string;
  readonly #versions = new Versions();

  /** The directory is made, with mode 0700, by the first save. */
  constructor(directory: string) {
    if (typeof directory !== "string" || directory === "") {
      const message = "new FileSessionStorage() takes the path of a directory.";
      throw new StemmaError("INVALID_ARGUMENT", { directory }, message);
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

  /** Grows by one with every save; 0 when there is no such session. */
  async version(sessionId: string): Promise<number> {
    return guarded(sessionId, async () => {
      const { id, version } = await this.#head(this.#path(sessionId));
      return id === null || id === sessionId ? version : 0;
    });
  }

  delete(sessionId: string): Promise<void> {
    return this.#versions.exclusive(sessionId, async () => {
      const path = this.#path(sessionId);
      await guarded(sessionId, async () => {
        const { rm } = await files();
        const { id } = await this.#head(path);
        if (id === null || id === sessionId) await rm(path, { force: true });
        await clearTemporaries(this.#workPrefix(sessionId));
      });
      this.#versions.forget(sessionId);
    });
  }

  async list(): Promise<string[]> {
    return guarded(this.#directory, async () => {
      const { readdir } = await files();
      const names = await readdir(this.#directory).catch((error: unknown) => {
        if (codeOf(error) === "ENOENT") return [];
        throw error;
      });
      const ids = names.filter((name) => name.endsWith(ENDING)).map((name) => name.slice(0, -ENDING.length));
      return ids.filter(isFileName);
    });
  }

  async #write(path: string, state: SessionState, expected: number): Promise<void> {
    const { id } = state;
    const { mkdir } = await files();
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const version = expected + 1;
    const check = async () => {
      const current = await this.#head(path);
      if (current.id !== null && current.id !== id) {
        throw invalidId(id, `The file of session "${id}" is that of "${current.id}" on this file system.`);
      }
      if (current.version !== expected) throw conflict(id);
    };
    const text = writeState(state, version, 1);
    const written = await commitFile({ path, workPrefix: this.#workPrefix(id), version, text, check });
    if (!written) throw conflict(id);
  }

  async #read(path: string, id: string): Promise<{ state: SessionState; version: number } | null> {
    const { constants, open } = await files();
    await clearTemporaries(this.#workPrefix(id));
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

  /** Version and id of the stored session; version 0 when there is none, or when someone else's program wrote it. */
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

  #path(id: string): string {
    assertFileName(id);
    return `${this.#directory}/${id}${ENDING}`;
  }

  #workPrefix(id: string): string {
    return `${this.#directory}/.${id}.`;
  }
}

async function guarded<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (StemmaError.isInstance(cause)) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StemmaError("STORE_FAILED", { what }, `The session files cannot be used: ${why}`, { cause });
  }
}
