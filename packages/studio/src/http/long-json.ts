import { isJsonObject, yieldIfDue } from "@stemma/model";
import { respond } from "./headers.js";

/** Characters that are sent at once. */
const CHUNK = 65_536;

/** An answer of JSON that may be long: it is written while it is read, and the event loop turns meanwhile. */
export function respondLongJson(value: object): Response {
  const pieces = piecesOf(value);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      let text = "";
      for (let piece = pieces.next(); !piece.done; piece = pieces.next()) {
        text += piece.value;
        if (text.length < CHUNK) continue;
        controller.enqueue(encoder.encode(text));
        await yieldIfDue();
        return;
      }
      controller.enqueue(encoder.encode(text));
      controller.close();
    },
  });
  return respond(body, { headers: { "content-type": "application/json; charset=utf-8" } });
}

/** The JSON of a value, item by item where it is a list or has some. */
function* piecesOf(value: unknown): Generator<string> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield `${index === 0 ? "[" : ","}${JSON.stringify(item)}`;
    yield value.length === 0 ? "[]" : "]";
  } else if (isJsonObject(value)) {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    for (const [index, [name, field]] of fields.entries()) {
      yield `${index === 0 ? "{" : ","}${JSON.stringify(name)}:`;
      yield* piecesOf(field);
    }
    yield fields.length === 0 ? "{}" : "}";
  } else yield JSON.stringify(value);
}
