import type { SessionInfo, SessionListRequest, Store } from "../contract/store.js";

/** How much of a list is read at once. */
const PAGE = 500;

/** All items of a list that goes on behind a name, in its order; or those behind `after`. `limit` is how many are read at once. */
export async function* listAll<T>(
  list: (page: { readonly after: string | undefined; readonly limit: number }) => Promise<readonly T[]>,
  nameOf: (item: T) => string,
  { after, limit = PAGE }: { after?: string | undefined; limit?: number | undefined } = {},
): AsyncGenerator<T> {
  for (;;) {
    const page = await list({ after, limit });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < limit) return;
    after = nameOf(last);
  }
}

/** All sessions of a store that a request allows; its `limit` is how many are read at once. */
export async function* allSessions(
  { sessions }: Store,
  request: SessionListRequest = {},
): AsyncGenerator<SessionInfo, void, undefined> {
  for (let { cursor } = request; ; ) {
    const page = await sessions.list({ limit: PAGE, ...request, cursor });
    yield* page.sessions;
    if (page.nextCursor === null) return;
    cursor = page.nextCursor;
  }
}

/** The users and the keys for whom a store keeps something. */
export async function* allOwners({
  blocks,
}: Store): AsyncGenerator<{ readonly user: string } | { readonly key: string }> {
  for (const kind of ["user", "key"] as const) {
    const names = listAll((page) => blocks.owners(kind, page), String);
    for await (const name of names) yield kind === "user" ? { user: name } : { key: name };
  }
}

/** The values of what is there later; `onEnd` runs when there is no more, or nobody asks any more. */
export function valuesIn<T>(
  opened: Promise<AsyncIterable<T> | Iterable<T>>,
  onEnd = async (): Promise<void> => {},
): AsyncIterable<T> {
  // Whoever iterates is told of a failure; perhaps nobody does.
  opened.catch(() => {});
  return (async function* () {
    try {
      yield* await opened;
    } finally {
      await onEnd();
    }
  })();
}
