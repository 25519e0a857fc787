import { sha256 } from "@stemma/model";
import type { Call } from "./route.js";

const DIGEST = 32;

/** The tag of what a request reads, by its JSON. */
export function tagOf(value: unknown): string {
  return `"${sha256(JSON.stringify(value)).slice(0, DIGEST)}"`;
}

/** The version that a request expects to be there: a tag, any (`*`), none (`If-None-Match: *`), or whatever is there (null). */
export type Expected = { readonly tags: readonly string[] } | "any" | "none" | null;

/** Reads the conditions of a write. */
export function expectedBy({ request: { headers } }: Pick<Call, "request">): Expected {
  const match = headers.get("if-match");
  if (match !== null) return match.trim() === "*" ? "any" : { tags: tagsIn(match) };
  return headers.get("if-none-match")?.trim() === "*" ? "none" : null;
}

/** True where what is there (null for nothing) has another tag than a write expects. */
export function isOther(expected: Expected, tag: string | null): boolean {
  if (expected === null) return false;
  if (expected === "any") return tag === null;
  if (expected === "none") return tag !== null;
  return tag === null || !expected.tags.includes(tag);
}

/** True for a read whose reader has this version already. */
export function isKnown({ request: { headers } }: Pick<Call, "request">, tag: string): boolean {
  const known = headers.get("if-none-match");
  return known !== null && (known.trim() === "*" || tagsIn(known).includes(tag));
}

// A weak tag is what a proxy makes of one of ours when it packs the answer.
const tagsIn = (header: string) => [...header.matchAll(/(?:W\/)?("[^"]*")/g)].map(([, tag = ""]) => tag);
