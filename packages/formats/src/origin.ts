import type { SessionMessage } from "@stemma/model";
import { isJsonObject, type JsonObject, mapped, type Pieces, sameJson } from "@stemma/model";

/**
 * One entry of the file that a message came from, kept in the message's metadata so that an export gives the file back.
 * A message can stand for several: an assistant's message and the results of its tools.
 */
export interface OriginEntry {
  /** Its place in the file: an export restores the order. */
  n: number;
  /** For a tool's result: the index of the part that holds it. */
  part?: number;
  /** The source less what the message's parts hold; the export adds that. */
  rest?: JsonObject;
  /** The whole source, where the parts would not give it back. */
  whole?: JsonObject;
}

/** The entries kept under `format` in a message's metadata; null for a message that is not from such a file. */
export function findOrigin(message: SessionMessage, format: string): OriginEntry[] | null {
  const origin = isJsonObject(message.metadata) ? message.metadata[format] : undefined;
  return isJsonObject(origin) && Array.isArray(origin.entries) ? (origin.entries as OriginEntry[]) : null;
}

/** The part of `source` to keep: `rest` when `rebuild` makes the source of it again, else the whole. */
export function keep(
  source: JsonObject,
  rest: JsonObject,
  rebuild: (rest: JsonObject) => unknown,
): Pick<OriginEntry, "rest" | "whole"> {
  return sameJson(rebuild(rest), source) ? { rest } : { whole: source };
}

export function without(object: JsonObject, ...fields: string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([field]) => !fields.includes(field)));
}

/** A piece of an export, and its place in the file it came from; null for what was never in one. */
export interface Placed<T> {
  n: number | null;
  source: T;
}

/**
 * Pieces in the order of their file. What has no place in it stays behind what it followed; what comes twice (a message
 * that was copied for a branch) is given once.
 */
export function* inFileOrder<T>(pieces: readonly Placed<T>[]): Pieces<T[]> {
  const seen = new Set<number>();
  let latest = -1;
  const placed: { source: T; place: number }[] = [];
  for (const { n, source } of pieces) {
    yield;
    if (n !== null && seen.has(n)) continue;
    if (n !== null) seen.add(n);
    latest = Math.max(latest, n ?? latest);
    placed.push({ source, place: n ?? latest });
  }
  placed.sort((a, b) => a.place - b.place);
  return yield* mapped(placed, ({ source }) => source);
}
