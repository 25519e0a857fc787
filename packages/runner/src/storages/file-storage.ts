import type { BigIntStats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { findJsonObject, invalid, reasonOf, StemmaError } from "@stemma/model";
import { codeOf, files } from "@stemma/model/files";
import type { SessionState, SessionStorage } from "../types.js";
import { clearDrafts, commitFile, type FileVersion, removeFile, type SharedFile } from "./file-commit.js";
import { assertFileName, invalidId, isFileName } from "./session-id.js";
import type { VersionedStorage } from "./storage-versions.js";
import { conflict, type Expected, newVersion, parseState, Versions, writeState } from "./storage-versions.js";

const ENDING = ".json";
/**
 * Keeps each session as a readable JSON file, `<directory>/<id>.json`, with mode 0600. A file is written whole or not at all,
 * and is on the disk when `save` resolves. If another program wrote a session after it was loaded or saved here, `save`
 * fails with `SESSION_CONFLICT`; a `load` that found nothing counts as well. Any other session is overwritten. Each save writes the
 * whole session.
 */
export class FileSessionStorage implements SessionStorage, VersionedStorage {
  readonly #directory: string;
  readonly #versions = new Versions();

  /** The first save makes the directory, with mode 0700. Errors: `INVALID_ARGUMENT`. */
  constructor(directory: string) {
    if (typeof directory !== "string" || directory === "") {
      throw invalid("new FileSessionStorage() takes the path of a directory.", { directory });
    }
    this.#directory = directory.replace(/(?<=.)\/+$/, "");
  }

  /** Errors: `SESSION_CONFLICT`, `INVALID_SESSION_ID`, `STORE_FAILED`. */
  save(state: SessionState): Promise<void> {
    return this.#versions.exclusive(state.id, async () => {
      this.#versions.note(state, await this.#write(state, this.#versions.expected(state)));
    });
  }

  /** Errors: `CORRUPT_STATE`, `INVALID_SESSION_ID`, `STORE_FAILED`. */
  load(sessionId: string): Promise<SessionState | undefined> {
    return this.#versions.exclusive(sessionId, async () => {
      const found = await this.#read(sessionId);
      if (found === null) {
        this.#versions.noteNone(sessionId);
        return undefined;
      }
      this.#versions.note(found.state, found.version);
      return found.state;
    });
  }

  /** Deletes a session; an unknown id does nothing. Errors: `INVALID_SESSION_ID`, `STORE_FAILED`. */
  delete(sessionId: string): Promise<void> {
    return this.#versions.exclusive(sessionId, async () => {
      await this.#remove(sessionId);
      this.#versions.noteNone(sessionId);
    });
  }

  /** The ids of the stored sessions. Errors: `STORE_FAILED`. */
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

  /** The version of the stored state: different for every save; null when there is no state. Errors as for `load`. */
  async version(sessionId: string): Promise<string | null> {
    const { path } = this.#file(sessionId);
    const version = await guarded(sessionId, () =>
      openState(path, async (handle) => {
        const stats = await handle.stat({ bigint: true });
        return versionOf((await readHead(handle)).number, stats);
      }),
    );
    if (version === null) this.#versions.noteAbsent(sessionId);
    return version;
  }

  /** The version that this object was loaded from or saved as here; null when it was neither. */
  versionOf(state: SessionState): string | null {
    return this.#versions.of(state);
  }

  async #write(state: SessionState, expected: Expected): Promise<string> {
    const { id } = state;
    const file = this.#file(id);
    return guarded(id, async () => {
      const { mkdir } = await files();
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      const number = newVersion();
      const check = async () => {
        const current = await headIn(file.path);
        this.#assertOwn(id, current);
        if (expected !== undefined && (current?.version ?? null) !== expected) throw conflict(id);
      };
      return versionOf(number, await commitFile({ ...file, text: writeState(state, number, 1), check }));
    });
  }

  async #remove(id: string): Promise<void> {
    const file = this.#file(id);
    await guarded(id, async () => {
      const current = await headIn(file.path);
      if (current === null || !isOwn(id, current)) return;
      await removeFile({ ...file, check: async () => this.#assertOwn(id, await headIn(file.path)) });
    });
  }

  async #read(id: string): Promise<{ state: SessionState; version: string } | null> {
    const file = this.#file(id);
    return guarded(id, async () => {
      await clearDrafts(file).catch(ignoreAbsent);
      return openState(file.path, async (handle) => {
        // Before the text: what is written meanwhile makes another version.
        const stats = await handle.stat({ bigint: true });
        const text = await handle.readFile("utf8");
        const state = parseState(text, id);
        // On a file system that does not tell upper from lower case, this is another session.
        return state.id === id ? { state, version: versionOf(headOf(text).number, stats) } : null;
      });
    });
  }

  #assertOwn(id: string, current: Head | null): void {
    if (current === null || isOwn(id, current)) return;
    throw invalidId(id, `The file of session "${id}" is that of "${current.id}" on this file system.`);
  }

  #file(id: string): SharedFile {
    assertFileName(id);
    return { path: `${this.#directory}/${id}${ENDING}`, draftPrefix: `${this.#directory}/.${id}.` };
  }
}

async function guarded<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (StemmaError.isInstance(cause)) throw cause;
    const why = reasonOf(cause);
    throw new StemmaError("STORE_FAILED", { what }, `The session files cannot be used: ${why}`, { cause });
  }
}

/** Bytes in which the version and the id of a state stand. */
const HEAD = 512;

/** The head of a file, which says which state is in it. */
interface Head {
  readonly id: string | null;
  readonly version: string;
}

/** True for the file of this session; not so where a file system does not tell upper from lower case. */
function isOwn(id: string, head: Head): boolean {
  return head.id === null || head.id === id;
}

/** The number of the version, and the id; the latter only where it stands behind the number. */
async function readHead(handle: FileHandle): Promise<{ number: number; id: string | null }> {
  const { buffer, bytesRead } = await handle.read(new Uint8Array(HEAD), 0, HEAD, 0);
  return headOf(new TextDecoder().decode(buffer.subarray(0, bytesRead)));
}

function headOf(text: string): { number: number; id: string | null } {
  const [, number = "0", id = null] = /^\{\s*"version":\s*(\d+),\s*"id":\s*"([^"\\]*)"/.exec(text) ?? [];
  return { number: Number(number), id };
}

// Another program may write the fields in any order.
async function idWithin(handle: FileHandle, { size }: BigIntStats): Promise<string | null> {
  const { buffer } = await handle.read(new Uint8Array(Number(size)), 0, Number(size), 0);
  const id = findJsonObject(new TextDecoder().decode(buffer))?.id;
  return typeof id === "string" ? id : null;
}

/** The version of a file. The number alone would not show an edit by hand. */
function versionOf(number: number, { size, mtimeNs, ino }: FileVersion): string {
  return [number, size, mtimeNs, ino].join(".");
}

/** Version and id of the stored session; null for no file. The id is null where another program wrote what is no state. */
function headIn(path: string): Promise<Head | null> {
  return openState(path, async (handle) => {
    const stats = await handle.stat({ bigint: true });
    const found = await readHead(handle);
    return { id: found.id ?? (await idWithin(handle, stats)), version: versionOf(found.number, stats) };
  }).catch((error: unknown) => {
    // A link may be replaced and removed.
    if (codeOf(error) === "ELOOP") return { id: null, version: "" };
    throw error;
  });
}

/** Runs `work` on an open file; null for no file. */
async function openState<T>(path: string, work: (handle: FileHandle) => Promise<T>): Promise<T | null> {
  const { constants, open } = await files();
  // A link could lead out of the directory.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch(ignoreAbsent);
  if (handle === null) return null;
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}

/** Null where something is not there. */
function ignoreAbsent(error: unknown): null {
  if (codeOf(error) === "ENOENT") return null;
  throw error;
}
