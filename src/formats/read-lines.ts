import { isJsonObject, isTooDeep, type JsonObject } from "../model/json-object.js";
import { type Item, type Position, TOO_DEEP } from "./session-file.js";

/** What a value of a file was read as, where it stands, and how many characters it has there. */
interface ReadLine<Line> {
  readonly line: Line;
  readonly at: Position;
  readonly length: number;
}

/** The values of a file as `parse` reads them. Where it gives a text, that says why the value is left out: `skip` is told. */
export async function* readLines<Line extends object>(
  items: AsyncIterable<Item>,
  parse: (value: unknown) => Line | string,
  skip: (at: Position, why: string) => void,
): AsyncGenerator<ReadLine<Line>> {
  for await (const item of items) {
    if (item.kind === "listEnd") continue;
    const { at } = item;
    const line = item.kind === "problem" ? item.why : parse(item.value);
    if (typeof line === "string") skip(at, line);
    else yield { line, at, length: item.kind === "problem" ? 0 : item.length };
  }
}

/** Reads an entry: an object with a type. */
export function parseEntry(value: unknown): JsonObject | string {
  if (!isJsonObject(value) || typeof value.type !== "string") return "not an entry: it has no type";
  return isTooDeep(value) ? TOO_DEEP : value;
}
