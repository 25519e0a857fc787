import { BROKE_OFF, lost, refusalOf } from "./failures.js";
import { findObject } from "./find-object.js";

/** The lines of a text that comes in pieces. Errors: `CONNECTION_LOST` where the last one has no end. */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = "";
  for await (const piece of pieces) {
    const [first = "", ...others] = piece.split("\n");
    rest += first;
    for (const other of others) {
      yield rest.replace(/\r$/, "");
      rest = other;
    }
  }
  if (rest !== "") throw lost(BROKE_OFF);
}

/** The JSON of each line. Errors: `REQUEST_REFUSED` where a line has none. */
export async function* valuesOf<T>(pieces: AsyncIterable<string>): AsyncGenerator<T> {
  for await (const line of linesOf(pieces)) {
    const value = findObject(line);
    if (value === null) throw refusalOf();
    yield value as T;
  }
}
