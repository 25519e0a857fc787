import { StemmaError } from "../errors.js";
import { findJsonObject, isJsonObject, type JsonObject } from "../lib/json.js";
import { assertStorableText, nameOf } from "./storable-text.js";

export type SessionMetadata = Record<string, unknown>;

/** Characters of JSON: every list of sessions reads them all. */
const MAX_LENGTH = 65_536;
const MAX_DEPTH = 32;

/** Fields as JSON has them. Errors: `INVALID_ARGUMENT` for what is no object of JSON, `INVALID_TEXT`. */
export function givenMetadata(metadata: unknown): SessionMetadata {
  const given = isJsonObject(metadata) ? jsonOf(metadata) : undefined;
  if (!isJsonObject(given)) throw invalid("is an object that can be written as JSON");
  assertStorable(given, MAX_DEPTH);
  return given;
}

/** The fields after a change: each is written over as a whole, and null removes one. Errors: those of `givenMetadata`. */
export function mergeMetadata(present: SessionMetadata, change: Readonly<SessionMetadata>): SessionMetadata {
  const merged = Object.entries({ ...present, ...givenMetadata(change) }).filter(([, value]) => value !== null);
  const metadata = Object.fromEntries(merged);
  if (JSON.stringify(metadata).length <= MAX_LENGTH) return metadata;
  throw invalid(`has at most ${MAX_LENGTH} characters as JSON`);
}

/**
 * Divides fields into those that the registry holds as they are, and the others: a field that is null, too deep, of text that
 * cannot be stored, or one field too many.
 */
export function splitMetadata(metadata: Readonly<SessionMetadata>): { held: SessionMetadata; rest: SessionMetadata } {
  const fields = Object.entries(JSON.parse(JSON.stringify(metadata)) as SessionMetadata);
  let held: SessionMetadata = {};
  for (const [field, value] of fields) {
    try {
      held = mergeMetadata(held, { [field]: value });
    } catch (error) {
      if (!StemmaError.isInstance(error)) throw error;
    }
  }
  return { held, rest: Object.fromEntries(fields.filter(([field]) => !Object.hasOwn(held, field))) };
}

/** Fields as they were stored; {} where there is nothing that can be read. */
export function parseMetadata(stored: unknown): SessionMetadata {
  return storedMetadata(stored) ?? {};
}

/** True for what a registry row may hold. */
export function isStoredMetadata(stored: unknown): boolean {
  return stored === null || storedMetadata(stored) !== null;
}

function storedMetadata(stored: unknown): SessionMetadata | null {
  return typeof stored === "string" ? findJsonObject(stored) : null;
}

function jsonOf(value: object): unknown {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    // A circle, or a number of the kind that JSON lacks.
    return undefined;
  }
}

function assertStorable(value: unknown, levels: number): void {
  if (typeof value === "string") assertStorableText(value, "A session's metadata");
  if (typeof value !== "object" || value === null) return;
  if (levels === 0) throw invalid(`is nested at most ${MAX_DEPTH} levels deep`);
  for (const [key, each] of Object.entries(value)) {
    assertStorableText(key, "A session's metadata");
    assertStorable(each, levels - 1);
  }
}

function invalid(rule: string): StemmaError {
  return new StemmaError("INVALID_ARGUMENT", {}, `A session's metadata ${rule}.`);
}

/** The working directory as a session's metadata has it, and the name of its folder as the project. */
export function metadataOfFolder(cwd: unknown): JsonObject | null {
  const folder = nameOf(cwd);
  if (folder === undefined) return null;
  const project = folder
    .replace(/(?<![/\\])[/\\]+$/, "")
    .split(/[/\\]/)
    .at(-1);
  return { ...(project ? { project } : {}), cwd: folder };
}

/**
 * A document with a JSON Merge Patch (RFC 7396) applied: fields of the patch replace those of the document, objects are
 * merged field by field, and null removes a field. Neither is changed.
 */
export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  // Fields of their own, whatever they are called: "__proto__" is a name like any other.
  const merged = new Map(Object.entries(isJsonObject(document) ? document : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, applyMergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}
