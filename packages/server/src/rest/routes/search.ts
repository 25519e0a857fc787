import { z } from "@hono/zod-openapi";
import { byTurns } from "@stemma/model";
import type { ManagerSearchPageOptions } from "@stemma/session";
import type { FoundEntry, Store } from "@stemma/store";
import { pageOf } from "../cursor.js";
import { memoryOf } from "../owner.js";
import { type Call, json, type Routes } from "../route.js";
import { FOUND_ENTRY, HIT, listOf, object, PAGE_BODY, TURN_RECALL, text, time } from "../schemas.js";

/** Collections of one owner that are searched. */
const MOST_LABELS = 20;
const MOST_OWNERS = 20;

const SEARCH = z.strictObject({
  query: text,
  sessionIds: z.array(text).max(1_000).optional(),
  role: text.optional(),
  after: time.optional(),
  before: time.optional(),
  leafId: text.nullable().optional(),
  metadata: object.optional(),
  sessionMetadata: object.optional(),
  context: z.int().min(0).max(100).optional(),
  rerank: z.boolean().optional(),
  threshold: z.number().optional(),
  owners: z.array(text).max(MOST_OWNERS).optional().openapi({
    description: "Whose entries are searched, too, as in paths. Default: the user of the key, if it has one.",
  }),
  ...PAGE_BODY,
});

const RECALL = {
  query: text,
  keys: z.array(text).optional(),
  maxTokens: z.number().optional(),
  maxMs: z.int().optional(),
  rerank: z.boolean().optional(),
  threshold: z.number().optional(),
  userId: text.optional(),
};

const FOUND = listOf("Hit", HIT)
  .extend({ entries: z.array(FOUND_ENTRY) })
  .openapi("SearchResults");
const RECALLED = TURN_RECALL.extend({ text }).openapi("Recall");

export function searchRoutes(routes: Routes): void {
  routes.add(
    "post",
    "/v1/search",
    {
      access: "read",
      summary: "Search messages and entries",
      description: "Of each the best come first. Entries come with the first page.",
      body: SEARCH,
      answers: { 200: FOUND },
    },
    async (call) => {
      const { limit, after: cursor, next } = pageOf(call);
      const { query, owners, limit: _, cursor: __, ...options } = call.body;
      const request = { ...options, limit, cursor } as ManagerSearchPageOptions;
      const [page, entries] = await Promise.all([
        call.sessions.searchPage(query, request),
        cursor === undefined ? searchEntries(call, query, owners, limit) : [],
      ]);
      return json({ data: page.results, nextCursor: next(page.nextCursor), entries });
    },
  );

  routes.add(
    "post",
    "/v1/recall",
    {
      access: "read",
      summary: "Recall what a user's memory holds about a text",
      description:
        "Entries and past exchanges, cut to what fits, and as a text for the model. With `sessionId`, of a chat.",
      body: z.strictObject({ ...RECALL, sessionId: text.optional() }),
      answers: { 200: RECALLED },
    },
    async ({ sessions, body: { query, sessionId, ...options } }) =>
      json(
        sessionId === undefined
          ? await sessions.recall(query, options)
          : await sessions.getSession(sessionId).recall(query, options),
      ),
  );
}

async function searchEntries(
  { store }: Pick<Call, "store">,
  query: string,
  owners: readonly string[] = store.userId === undefined ? [] : ["user"],
  limit: number,
): Promise<FoundEntry[]> {
  const found = await Promise.all(owners.map((owner) => entriesOf(store, owner, query, limit)));
  return byTurns(found.flat()).slice(0, limit);
}

/** The entries of an owner by their labels; of a key that reaches one of them, that one. */
async function entriesOf(reached: Store, owner: string, query: string, limit: number) {
  const { store, scope } = memoryOf(reached, owner);
  const labels = (await store.entries.labels(scope)).slice(0, MOST_LABELS);
  return Promise.all(
    labels.map(async ({ label }) => {
      const found = await store.entries.search({ ...scope, label }, query, { limit });
      return found.map((entry) => ({ ...entry, owner, label }));
    }),
  );
}
