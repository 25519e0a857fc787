import { check, defineOptions, isJsonObject, type JsonObject, StemmaError } from "@stemma/model";
import { hasMethod } from "@stemma/session";
import { allSessions, assertStore, isStore, kindOfHost, type MemoryOwner, type Store } from "@stemma/store";
import { memoryHeader, memoryLines, ownersOf, sessionHeader, sessionLines } from "../stemma/store-lines.js";
import {
  type CopiedPart,
  type CopyOptions,
  type CopyReport,
  type CopySource,
  type CopyTarget,
  conflict,
  type Part,
  type PartOf,
} from "./contract.js";
import { isWaitingLine, vectorHeader, vectorLine, writeParts } from "./jsonl-parts.js";
import { storeTarget } from "./store-target.js";

const ATTEMPTS = 3;
/** How long a record must last to be compared, in milliseconds. */
const LASTING = 3_600_000;

const FATAL = [
  ...["STORE_CLOSED", "STORE_REPLACED", "STORE_FAILED", "STORE_LOCKED", "CONNECTION_LOST"],
  ...["DRIVER_MISSING", "MIGRATION_REQUIRED", "DATABASE_TOO_NEW", "NOT_A_DATABASE", "WRONG_KEY", "FILE_EXISTS"],
];

const OPTIONS = defineOptions<CopyOptions>({
  onPart: check.callable,
  onProgress: check.callable,
  vectors: check.flag,
  signal: check.signal,
});

/**
 * Copies all that a store holds to another store, or to or from JSONL (`jsonlFiles()`, `jsonl()`): sessions with messages, branches,
 * summaries, blocks, entries, records, versions, usage and dates, and what is remembered of users and under keys. What is there
 * already stays, so that a copy that was cut off goes on when it is called again. Then each session is read from both sides,
 * and compared by its number of items and a hash. Vectors are copied behind their session, where both stores keep vectors.
 *
 * A session that the target has with other content is told in the report, and not overwritten; others are copied all the same.
 * A store that is being written can be copied; of what changes later a further call copies what was appended.
 * Errors: `STORE_UNSUPPORTED` for what can not be copied from or to; those of a store as a whole, as `CONNECTION_LOST`; the
 * reason of `signal`.
 */
export async function copyStore(
  from: Store | CopySource,
  to: Store | CopyTarget,
  options: CopyOptions = {},
): Promise<CopyReport> {
  OPTIONS.assert(options, "copyStore()");
  const source = sourceOf(from);
  const target = targetOf(to);
  const parts: CopiedPart[] = [];
  const takesVectors = target.keepsVectors !== false && options.vectors !== false;
  const failed = new Set<string>();
  let sessions = 0;
  await target.begin?.();
  for await (const part of source.parts()) {
    options.signal?.throwIfAborted();
    if ("vectors" in part.of && (!takesVectors || failed.has(part.of.vectors))) continue;
    const copied = await copyPart(part, target, options);
    parts.push(copied);
    if ("session" in part.of && copied.state === "failed") failed.add(part.of.session);
    if ("session" in part.header && copied.state !== "failed") sessions += 1;
    options.onPart?.(copied);
  }
  await target.end?.(parts);
  const done = parts.filter(({ state }) => state !== "failed");
  const messages = done.reduce((sum, part) => sum + part.messages, 0);
  const vectors = done.reduce((sum, { of, items }) => sum + ("vectors" in of ? items : 0), 0);
  return { ok: done.length === parts.length, sessions, messages, vectors, parts };
}

function sourceOf(from: Store | CopySource): CopySource {
  if (isStore(from)) return storeSource(from);
  if (hasMethod(from, "parts")) return from;
  throw noPlace("from a store, jsonlFiles(path) or jsonl(bytes)", from);
}

function targetOf(to: Store | CopyTarget): CopyTarget {
  if (isStore(to)) return storeTarget(to);
  if (hasMethod(to, "write") && hasMethod(to, "read")) return to;
  throw noPlace("to a store or jsonlFiles(folder)", to);
}

function noPlace(places: string, got: unknown): StemmaError {
  return new StemmaError("STORE_UNSUPPORTED", {}, `copyStore() copies ${places}; got ${kindOfHost(got)}.`);
}

async function copyPart(first: Part, target: CopyTarget, options: CopyOptions): Promise<CopiedPart> {
  const { of } = first;
  let isCopied = false;
  let read = new LineDigest(0);
  const done = async (problem?: CopiedPart["problem"]): Promise<CopiedPart> => {
    const state = problem !== undefined ? "failed" : isCopied ? "copied" : "present";
    return { of, state, messages: read.messages, items: read.items, digest: await read.hex(), problem };
  };
  try {
    for (let part: Part = first, attempt = 1; ; attempt += 1) {
      const until = Date.now() + LASTING;
      read = new LineDigest(until);
      await read.add(part.header);
      isCopied = (await target.write(of, part.header, counted(part, read, options))) || isCopied;
      const isEqual = (await digestOf(target.read(of), until)) === (await read.hex());
      const isChanged = (await part.isChanged?.()) ?? !isEqual;
      const again = isChanged && attempt < ATTEMPTS ? await part.again?.() : null;
      // What changes all the time is copied as it was read.
      if (!again) return await done(isEqual ? undefined : different(of));
      part = again;
    }
  } catch (error) {
    if (!StemmaError.isInstance(error) || FATAL.includes(error.code)) throw error;
    return done({ code: error.code, message: error.message });
  }
}

async function* counted(part: Part, read: LineDigest, { onProgress, signal }: CopyOptions): AsyncGenerator<JsonObject> {
  for await (const line of part.lines()) {
    signal?.throwIfAborted();
    await read.add(line);
    onProgress?.(part.of, read.items);
    yield line;
  }
}

async function digestOf(lines: AsyncIterable<JsonObject>, until: number): Promise<string> {
  const digest = new LineDigest(until);
  for await (const line of lines) await digest.add(line);
  return digest.hex();
}

function different(of: PartOf): CopiedPart["problem"] {
  const { code, message } = conflict(of, "it is not what was read, or somebody writes to it on one of the two sides");
  return { code, message };
}

const PIECE = 65_536;

/**
 * A SHA-256 over lines, each of the hash so far with further lines. Records that expire before `until`, in milliseconds since
 * 1970, do not count: they may go between two looks. Nor do messages that wait for their vectors: these may come.
 */
class LineDigest {
  #hash = "";
  #lines: string[] = [];
  #length = 0;
  items = -1;
  messages = 0;

  constructor(private readonly until: number) {}

  async add(line: JsonObject): Promise<void> {
    if (this.#isPassing(line) || isWaitingLine(line)) return;
    this.items += 1;
    if ("message" in line) this.messages += 1;
    const text = JSON.stringify(line);
    this.#lines.push(text);
    this.#length += text.length;
    if (this.#length >= PIECE) await this.#hashLines();
  }

  async hex(): Promise<string> {
    if (this.#lines.length > 0) await this.#hashLines();
    return this.#hash;
  }

  #isPassing({ kept }: JsonObject): boolean {
    const record = isJsonObject(kept) && isJsonObject(kept.record) ? kept.record : null;
    return typeof record?.expiresAt === "number" && record.expiresAt <= this.until;
  }

  async #hashLines(): Promise<void> {
    const bytes = new TextEncoder().encode([this.#hash, ...this.#lines].join("\n"));
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    this.#hash = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    this.#lines = [];
    this.#length = 0;
  }
}

/**
 * Everything that a store holds, as lines of JSONL with their line ends. `copyStore(jsonl(bytes), store)` reads them elsewhere: a
 * Durable Object can send them as a response. What no call can name, as a user whose id is over
 * today's limit, is left out, and told when all else was exported. Errors: `STORE_UNSUPPORTED`; while it is read, those of the
 * store; at the end `INVALID_ARGUMENT` where something was left out.
 */
export function exportStore(store: Store): AsyncGenerator<string> {
  assertStore(store, "exportStore()");
  return writeParts(storeSource(store));
}

/** All that a store holds: sessions as they were registered, what no session has, then what is remembered of users and under keys. */
function storeSource(store: Store): CopySource {
  return {
    async *parts() {
      for (const id of await sessionIds(store)) {
        const part = await askFor(store, id);
        if (part === null) continue;
        yield part;
        const vectors = await vectorsPart(store, id);
        if (vectors !== null) yield vectors;
      }
      // Behind the sessions: what an upgrade brought along, those have by now in which it shows.
      for await (const owner of ownersOf(store)) yield memoryPart(store, owner);
    },
  };
}

// One that cannot be asked for, as one whose id is reserved by now, is a part that fails: others are copied all the same.
async function askFor(store: Store, id: string): Promise<Part | null> {
  try {
    return await sessionPart(store, id);
  } catch (error) {
    const lines = () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) });
    return { of: { session: id }, header: { session: { id } }, lines };
  }
}

/** A session of a store; null where it is not registered. */
async function sessionPart(store: Store, id: string): Promise<Part | null> {
  const session = store.session(id);
  const change = await session.change();
  const info = await store.sessions.get(id);
  if (info === null) return null;
  return {
    of: { session: id },
    header: await sessionHeader(store, info),
    lines: () => sessionLines(store, id),
    isChanged: async () => (await session.change()) !== change,
    again: () => sessionPart(store, id),
  };
}

/** Vectors of a session; null where nothing was embedded. */
async function vectorsPart(store: Store, id: string): Promise<Part | null> {
  const { vectors } = store;
  const model = (await vectors?.model()) ?? null;
  if (vectors === undefined || model === null) return null;
  for await (const _first of vectors.list(id, model)) {
    return {
      of: { vectors: id },
      header: vectorHeader(id, model),
      async *lines() {
        for await (const vector of vectors.list(id, model)) yield vectorLine(vector);
      },
      again: () => vectorsPart(store, id),
    };
  }
  return null;
}

function memoryPart(store: Store, of: MemoryOwner): Part {
  return {
    of,
    header: memoryHeader(of),
    lines: () => memoryLines(store, of),
    again: async () => memoryPart(store, of),
  };
}

// Only ids are held, so that no session is passed over that changes its place meanwhile.
async function sessionIds(store: Store): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of allSessions(store, { orderBy: "registered" })) ids.push(id);
  return ids.reverse();
}
