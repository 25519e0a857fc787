import { parseQuery } from "../model/query.js";
import { excerpt } from "../model/snippet.js";

export { cut } from "../model/cut.js";
export { beginning } from "../model/snippet.js";

/** A piece of `text` of at most `length` characters in which most of what `query` looks for occurs. */
export function snippet(text: string, query: string, length: number): string {
  return excerpt(text, parseQuery(query), length);
}
