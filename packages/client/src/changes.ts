import { StemmaError } from "@stemma/model";
import { findObject, linesOf } from "./answers.js";
import type { ReadInit } from "./client-options.js";
import { pause } from "./sender.js";
import type { Transport } from "./transport.js";

/** One change of a session. */
export interface Change {
  /** To go on behind it, as `after`. */
  readonly id: string;
  /** The id of the session. */
  readonly session: string;
  readonly kind: "changed" | "deleted";
  /** The session's tag from then on; "" for one that was deleted. */
  readonly change: string;
}

/** Which changes are heard. */
export interface ChangesQuery {
  /** Only those of this session. Default: all that the key reaches. */
  readonly session?: string | undefined;
  /** The `id` of the last change that was heard, at most an hour ago. Default: from now on. */
  readonly after?: string | undefined;
}

const TYPE = "text/event-stream";
/** The server sends something twice as often. */
const SILENCE = 30_000;
const PAUSE = 1_000;

/** Hears of changes. A stream that ends or breaks off is opened again where it ended. */
export async function* changesOf(
  transport: Transport,
  { session, after }: ChangesQuery,
  init: ReadInit = {},
): AsyncGenerator<Change> {
  const route = session === undefined ? "GET /v1/changes" : "GET /v1/sessions/{session}/changes";
  const ids = session === undefined ? [] : [session];
  for (let last = after; ; ) {
    let isOpen = false;
    try {
      const asked = { ids, query: { after: last }, accept: TYPE, init: { timeout: SILENCE, ...init } };
      let id = last;
      let data = "";
      for await (const line of linesOf(transport.text(route, asked))) {
        isOpen = true;
        const [, name, value = ""] = /^(id|data): ?(.*)/.exec(line) ?? [];
        if (name === "id") id = value;
        if (name === "data") data = value;
        // An event ends with an empty line; one without data says where the stream stands.
        if (line !== "") continue;
        last = id;
        if (data === "") continue;
        const change = { ...findObject(data), id } as Change;
        data = "";
        yield change;
        if (change.kind === "deleted" && session !== undefined) return;
      }
    } catch (error) {
      // Whatever cannot be opened was tried again before.
      if (!isOpen || !StemmaError.isInstance(error, "CONNECTION_LOST")) throw error;
    }
    await pause(PAUSE * Math.random(), init.signal);
  }
}
