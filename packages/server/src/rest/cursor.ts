import { fromBase64, invalid, sha256, toBase64 } from "@stemma/model";
import type { Call } from "./route.js";
import { DEFAULT_LIMIT } from "./schemas.js";

const MARK = 16;

/** The part of a list that a request asks for. */
export interface Page {
  readonly limit: number;
  /** The key that the page before ended with; undefined for the first page. */
  readonly after: string | undefined;
  /** The cursor of the page behind this one, which ends with this key; null where it is the last. */
  next(key: string | null | undefined): string | null;
}

interface Paged {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/**
 * Reads a page's `limit` and `cursor`, in the query or in the body. A cursor holds for one address, order and set of filters.
 * Errors: `INVALID_ARGUMENT` for any other.
 */
export function pageOf({ path, ids, query, body }: Pick<Call, "path" | "ids" | "query" | "body">): Page {
  const { limit = DEFAULT_LIMIT, cursor, ...filters } = { ...(query as Paged), ...(body as Paged | undefined) };
  const mark = sha256(JSON.stringify([path, ids, filters])).slice(0, MARK);
  return {
    limit,
    after: cursor === undefined ? undefined : keyOf(cursor, mark),
    next: (key) => (key == null ? null : write(mark + key)),
  };
}

function keyOf(cursor: string, mark: string): string {
  const text = read(cursor);
  if (!text.startsWith(mark)) {
    throw invalid("The cursor is of another list: send it with the filters and the order of the page that gave it.");
  }
  return text.slice(MARK);
}

const write = (text: string) =>
  toBase64(new TextEncoder().encode(text)).replace(/[+/=]/g, (sign) => ({ "+": "-", "/": "_" })[sign] ?? "");

function read(cursor: string): string {
  try {
    return new TextDecoder().decode(fromBase64(cursor.replace(/[-_]/g, (sign) => (sign === "-" ? "+" : "/"))));
  } catch {
    return "";
  }
}
