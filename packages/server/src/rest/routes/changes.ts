import { z } from "@hono/zod-openapi";
import { invalid, perObject, StemmaError, sha256, sleep } from "@stemma/model";
import { allSessions, type Store } from "@stemma/store";
import type { ServerOptions } from "../../http/server-options.js";
import { assertThere, type Call, json, type Routes } from "../route.js";
import { text } from "../schemas.js";
import { textStream } from "../streams.js";

/** How often a store is asked, in milliseconds. */
const INTERVAL = 1_000;
/** After so many, something is sent, for proxies that close what is silent. */
const SILENCE = 15_000;
/** A stream ends then, and its reader comes again. */
const LONGEST = 300_000;
/** Streams and waiting requests of one key. */
const MOST_STREAMS = 64;
const MOST_WAIT = 60;
/** Milliseconds: of two transactions, the one that was dated first may be stored last. */
const SLACK = 2_000;
/** By so much the clocks of those who write may differ, and so often what they dated earlier is looked for. */
const SKEW = 60_000;
const LOOK_BACK = 10_000;
const OLDEST = 3_600_000;
const EVENTS = "text/event-stream; charset=utf-8";

interface Change {
  /** To go on behind it. */
  readonly id: string;
  readonly session: string;
  /** `changed`, or `deleted`. */
  readonly kind: "changed" | "deleted";
  /** The session's tag, as its entry has it; "" for one that was deleted. */
  readonly change: string;
}

/** Looks at what changed since the last look. */
interface Look {
  (): Promise<readonly Change[]>;
  /** The `id` to go on behind where nothing changed for long. */
  position(): string;
}

const QUERY = {
  wait: z.coerce
    .number()
    .pipe(z.int().min(1).max(MOST_WAIT))
    .optional()
    .openapi({ type: "integer", description: "Seconds that JSON waits for a change, instead of a stream." }),
  after: text.optional().openapi({ description: "The `id` of the last change that was read, as `Last-Event-ID`." }),
};

const CHANGE = z
  .object({ id: text, session: text, kind: z.enum(["changed", "deleted"]), change: text })
  .openapi("Change");
const ANSWERS = {
  200: { "text/event-stream": text, "application/json": z.object({ data: z.array(CHANGE) }).openapi("Changes") },
};
const DESCRIPTION =
  "As server-sent events, or with `wait` as JSON `{ data }`. They name sessions and hold no text. A change may come twice; several of one session may come as one.";

const open = perObject((_store: object) => ({ count: 0 }));

export function changeRoutes(routes: Routes, options: ServerOptions): void {
  routes.add(
    "get",
    "/v1/changes",
    { access: "read", summary: "Hear which sessions change", description: DESCRIPTION, query: QUERY, answers: ANSWERS },
    async (call) => answer(call, await lookAtAll(call.store, afterOf(call)), options),
  );

  routes.add(
    "get",
    "/v1/sessions/{session}/changes",
    {
      access: "read",
      summary: "Hear when a session changes",
      description: DESCRIPTION,
      query: QUERY,
      answers: ANSWERS,
    },
    async (call) => {
      await assertThere(call.store, call.ids.session);
      return answer(call, await lookAtOne(call.store, call.ids.session, afterOf(call)), options);
    },
  );
}

type ChangesCall = Call<string, { readonly wait?: number | undefined; readonly after?: string | undefined }>;

function afterOf({ query, request }: Pick<ChangesCall, "query" | "request">): string | undefined {
  return query.after ?? request.headers.get("last-event-id") ?? undefined;
}

async function answer(call: ChangesCall, look: Look, options: ServerOptions): Promise<Response> {
  const { wait } = call.query;
  if (wait !== undefined) {
    for await (const changes of looks(call, look, wait * 1_000, options)) {
      if (changes.length > 0) return json({ data: changes });
    }
    return json({ data: [] });
  }
  // Of such an answer nobody reads what follows, so that nothing would end it.
  if (call.request.method === "HEAD") return new Response(null, { headers: { "content-type": EVENTS } });
  return textStream(events(looks(call, look, LONGEST, options), look), EVENTS, 1);
}

async function* events(all: AsyncIterable<readonly Change[]>, look: Look): AsyncGenerator<string> {
  let text = "retry: 1000\n\n";
  let silentSince = performance.now();
  for await (const changes of all) {
    for (const { id, ...change } of changes) text += `id: ${id}\ndata: ${JSON.stringify(change)}\n\n`;
    // An event without data says where the stream stands: whoever comes again goes on there.
    if (text === "" && performance.now() - silentSince >= SILENCE) text = `id: ${look.position()}\n\n`;
    if (text === "") continue;
    yield text;
    text = "";
    silentSince = performance.now();
  }
}

/** Looks once in a second until the time is over, the reader has left or is no longer let in, or the server is about to end. */
async function* looks(
  { store, request: { signal }, isLetIn }: ChangesCall,
  look: Look,
  lasts: number,
  { isReady }: ServerOptions,
): AsyncGenerator<readonly Change[]> {
  const streams = open(store);
  if (streams.count >= MOST_STREAMS) {
    throw new StemmaError(
      "RATE_LIMITED",
      { retryAfter: 1 },
      `A key may hear of changes ${MOST_STREAMS} times at once.`,
    );
  }
  streams.count += 1;
  try {
    // It is let in: an answer may begin.
    yield [];
    const end = performance.now() + lasts;
    while (!signal.aborted && isReady?.() !== false && (await isLetIn())) {
      const changes = await look();
      yield changes;
      if (changes.some(({ kind }) => kind === "deleted")) return;
      const left = end - performance.now();
      if (left <= 0) return;
      await sleep(Math.min(INTERVAL, left));
    }
  } finally {
    streams.count -= 1;
  }
}

/** Looks for changes of one session, from now on or since a change of it. */
async function lookAtOne(store: Store, session: string, after: string | undefined): Promise<Look> {
  const read = async () => encodeURIComponent(await store.session(session).change());
  let known = after ?? (await read());
  const look = async (): Promise<Change[]> => {
    const isThere = (await store.sessions.get(session)) !== null;
    const change = isThere ? await read() : "";
    if (change === known) return [];
    known = change;
    return [{ id: change, session, kind: isThere ? "changed" : "deleted", change }];
  };
  return Object.assign(look, { position: () => known });
}

/** The latest change of a session that was heard: its time, and its tag; "" of one that was long ago at the beginning. */
interface Heard {
  readonly at: string;
  readonly change: string;
}

/**
 * Looks for changes of all sessions, from now on or behind a change. A store has no other order of them than their times, by the clocks of
 * those who write. So now and then it looks back as far as these may differ, and an `id` marks what was heard until its time.
 * Errors: `INVALID_ARGUMENT`.
 */
async function lookAtAll(store: Store, after: string | undefined): Promise<Look> {
  const [given = "", mark] = after?.split("~") ?? [];
  const asked = after === undefined ? Date.now() : Date.parse(given);
  if (!(Date.now() - asked < OLDEST)) throw invalid("after is no change of the last hour: list the sessions instead.");
  const heard = new Map<string, Heard>();
  let newest = after === undefined ? "" : new Date(asked).toISOString();
  let lookedBack = Number.NEGATIVE_INFINITY;

  const look = async (isFirst = false): Promise<Change[]> => {
    const isFar = performance.now() - lookedBack >= LOOK_BACK;
    if (isFar) lookedBack = performance.now();
    // A clock that went back dates what comes by less than what was.
    const now = new Date().toISOString();
    const found: (Heard & { readonly session: string })[] = [];
    for await (const { id: session, updated_at: at } of allSessions(store, { orderBy: "change", limit: 100 })) {
      newest ||= at;
      if (at < before(newest, isFar ? SKEW : SLACK)) break;
      const last = heard.get(session);
      const isOld = at < before(newest, SLACK);
      const change = isOld && isFirst ? "" : encodeURIComponent(await store.session(session).change());
      heard.set(session, { at, change });
      const isSame = last?.change === "" ? last.at === at : last?.change === change;
      if (!isSame) found.push({ session, at, change });
    }
    if (newest === "") return [];
    for (const { at } of found) if (at > newest) newest = at;
    if (now < newest) newest = now;
    for (const [session, { at }] of heard) if (at < before(newest, SKEW)) heard.delete(session);
    const id = `${newest}~${markOf(heard, newest)}`;
    return found
      .map(({ session, at, change }, index) => ({
        id: index === 0 ? id : at,
        session,
        kind: "changed" as const,
        change,
      }))
      .reverse();
  };

  const began = newest;
  // What there is at the beginning is no change. Where there is nothing yet, all that comes is.
  await look(true);
  if (after !== undefined) {
    const isKnown = mark === markOf(heard, began);
    const from = isKnown ? began : mark === undefined ? before(began, SLACK) : "";
    for (const [session, { at }] of heard) if (at > from) heard.delete(session);
    newest = began;
    if (!isKnown) lookedBack = Number.NEGATIVE_INFINITY;
  }
  const position = () => {
    // "" where there is nothing yet.
    const time = [newest, before(new Date().toISOString(), SKEW)].sort()[1] as string;
    return `${time}~${markOf(heard, time)}`;
  };
  return Object.assign(() => look(), { position });
}

/** Marks what was heard until a time, as far back as clocks may differ. */
function markOf(heard: ReadonlyMap<string, Heard>, time: string): string {
  const [least, recent] = [before(time, SKEW), before(time, SLACK)];
  const known = [...heard].filter(([, { at }]) => least <= at && at <= time);
  const marks = known.map(([session, { at, change }]) => JSON.stringify([session, at < recent ? at : change]));
  return sha256(marks.sort().join()).slice(0, 16);
}

const before = (time: string, ms: number) => new Date(Date.parse(time) - ms).toISOString();
