import {
  COMPACTION,
  prepareWrites,
  type RestWrite,
  TELLING,
  WRITES,
} from "../../packages/server/test/quick/rest-writes.js";
import { withEverything } from "../../packages/server/test/quick/with-everything.js";
import type { Asked } from "./crash-rounds.js";
import { type Fetch, serverFor } from "./remote-target.js";

const HOST = "http://memory.test";
const JSON_TYPE = { "content-type": "application/json" };
const KEY = { "idempotency-key": "request-1" };
/** How often a request without an answer is sent again. */
const ATTEMPTS = 20;

/** Every route that writes, asked for by the same request until an answer comes. */
export const REST_WRITES: readonly Asked[] = WRITES.map((write) => ({
  title: write.route,
  isComposed: TELLING.includes(write.route),
  prepare: async (store) => {
    const serve = serverFor(store, { sessions: withEverything });
    const ask = async (method: string, path: string, { json }: { readonly json: unknown }) => {
      const response = await serve(
        new Request(HOST + path, { method, headers: JSON_TYPE, body: JSON.stringify(json) }),
      );
      if (!response.ok) throw new Error(await response.text());
    };
    await prepareWrites(ask);
    if (write.route.includes("{compaction}")) await ask("POST", "/v1/sessions/chat/compactions", { json: COMPACTION });
  },
  call: async ({ fetch, store }) => {
    const [compaction] = await store.session("chat").compactions();
    return () => answerTo(write, compaction?.id ?? "", fetch);
  },
}));

async function answerTo(
  { method, headers, body, pathWith }: RestWrite,
  compaction: string,
  fetch: Fetch,
): Promise<unknown> {
  const init = { method, headers: { ...headers, ...KEY }, ...(body !== undefined && { body }) };
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(new Request(HOST + pathWith(compaction), init)).catch(() => null);
    if (response !== null && response.status !== 503) {
      const text = await response.text();
      if (!response.ok) throw new Error(`${response.status} ${text}`);
      return { status: response.status, text };
    }
    if (attempt === ATTEMPTS) throw new Error("No answer came.");
    await new Promise((wake) => setTimeout(wake, 5 * attempt));
  }
}
