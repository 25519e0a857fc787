import { StemmaError } from "../errors.js";
import { assertKnownOptions } from "../known-options.js";
import type { JsonObject } from "../model/json-object.js";
import { hasMethod } from "../session/assert-session.js";
import type { Store } from "../storage/contract.js";
import { isStore, kindOfHost } from "../storage/store-of.js";
import { conflict } from "./conflict.js";
import type { CopiedPart, CopyOptions, CopyReport, CopySource, CopyTarget, Part, PartOf } from "./contract.js";
import { LineDigest } from "./line-digest.js";
import { storeSource } from "./store-source.js";
import { storeTarget } from "./store-target.js";

/** How often a part is read again that others write to. */
const ATTEMPTS = 3;
/** How long a record must last to be compared, in milliseconds. */
const LASTING = 3_600_000;

/** What is wrong with the whole store, or for a while. */
const FATAL = [
  ...["STORE_CLOSED", "STORE_REPLACED", "STORE_FAILED", "STORE_LOCKED", "CONNECTION_LOST"],
  ...["DRIVER_MISSING", "MIGRATION_REQUIRED", "DATABASE_TOO_NEW", "NOT_A_DATABASE", "WRONG_KEY", "FILE_EXISTS"],
];

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
  assertKnownOptions(options, "copyStore()", { onPart: true, onProgress: true, vectors: true, signal: true });
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
