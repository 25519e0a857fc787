import { z } from "@hono/zod-openapi";
import { StemmaError } from "@stemma/model";
import {
  type EntryScope,
  type EntryWrite,
  fieldsOf,
  type KeptWrite,
  type ListedEntry,
  type SearchEntriesOptions,
  type Store,
} from "@stemma/store";
import { pageOf } from "../cursor.js";
import { expectedBy, isKnown, isOther, tagOf } from "../etag.js";
import { memoryOf } from "../owner.js";
import { type Call, json, noContent, type Routes } from "../route.js";
import {
  anything,
  ENTRY,
  FIELDS,
  FOUND_ENTRY,
  flag,
  listOf,
  object,
  PAGE,
  PAGE_BODY,
  text,
  VERSION,
} from "../schemas.js";
import { assertOwner, noVersion } from "./blocks.js";

const LABELS = "/v1/memory/{owner}/entries";
const LABEL = `${LABELS}/{label}` as const;
const ENTRY_PATH = `${LABEL}/{key}` as const;

const VIEW = {
  asOf: text.optional().openapi({ description: "Only what held in the world at this time." }),
  knownAt: text.optional().openapi({ description: "What the store knew at this time." }),
};

export function entryRoutes(routes: Routes): void {
  routes.add(
    "get",
    LABELS,
    {
      access: "read",
      summary: "List the labels that have entries",
      answers: { 200: listOf("EntryLabel", z.object({ label: text, count: z.int() }).openapi("EntryLabel")) },
    },
    async (call) => {
      const { store, scope } = memoryOf(call.store, call.ids.owner);
      const data = await store.entries.labels(scope);
      if (data.length === 0) await assertOwner(store, scope);
      return json({ data, nextCursor: null });
    },
  );

  routes.add(
    "get",
    LABEL,
    {
      access: "read",
      summary: "List entries",
      description: "Those that hold now, in the order of their keys.",
      query: { prefix: text.optional(), includeEnded: flag, includeExpired: flag, ...VIEW, ...PAGE },
      answers: { 200: listOf("Entry", ENTRY) },
    },
    async (call) => {
      const { includeEnded, includeExpired, limit: _, cursor: __, ...view } = call.query;
      return list(call, { ...view, includeEnded: includeEnded === "true", includeExpired: includeExpired === "true" });
    },
  );

  routes.add(
    "post",
    `${LABEL}/query`,
    {
      access: "read",
      summary: "List entries by tags and values",
      body: z.strictObject({ ...QUERY, ...PAGE_BODY }),
      answers: { 200: listOf("Entry", ENTRY) },
    },
    async (call) => {
      const { limit: _, cursor: __, ...view } = call.body;
      return list(call, view as View);
    },
  );

  routes.add(
    "post",
    `${LABEL}/search`,
    {
      access: "read",
      summary: "Search entries",
      description: "The best come first.",
      body: z.strictObject({
        query: text,
        limit: z.int().min(1).max(200).optional(),
        after: z.number().optional().openapi({ description: "Milliseconds since 1970: last written then or later." }),
        before: z.number().optional(),
        rerank: z.boolean().optional(),
        threshold: z.number().optional(),
        ...QUERY,
      }),
      answers: { 200: z.object({ data: z.array(FOUND_ENTRY) }).openapi("FoundEntries") },
    },
    async (call) => {
      const { store, scope } = placeOf(call);
      const { query, limit = 20, ...options } = call.body;
      const data = await store.entries.search(scope, query, {
        ...(options as Omit<SearchEntriesOptions, "limit">),
        limit,
      });
      if (data.length === 0) await assertOwner(store, scope);
      return json({ data });
    },
  );

  routes.add(
    "get",
    ENTRY_PATH,
    {
      access: "read",
      summary: "Read an entry",
      description: "One that has ended or expired, too.",
      answers: { 200: ENTRY, 304: null },
    },
    async (call) => {
      const { store, scope } = placeOf(call);
      const entry = await entryAt(store, scope, call.ids.key);
      const tag = tagOf(entry);
      return isKnown(call, tag) ? noContent(304, { etag: tag }) : json(entry, 200, { etag: tag });
    },
  );

  routes.add(
    "put",
    ENTRY_PATH,
    {
      access: "write",
      summary: "Write an entry",
      description:
        "Times, tags and the like that are left out stay as they are; without `value` it has none. `If-Match` takes the tag of the entry that is replaced; `If-None-Match: *` only makes a new one.",
      body: z.strictObject({ content: text, value: anything.optional(), holds: z.boolean().optional(), ...FIELDS }),
      answers: { 200: ENTRY },
    },
    async (call) => {
      const { store, scope } = placeOf(call);
      const { key } = call.ids;
      const { holds, ...entry } = call.body;
      const options = holds === undefined ? {} : { holds };
      await writeEntry(call, store, scope, { entries: scope, key, ...entry, options });
      return written(store, scope, key);
    },
  );

  routes.add(
    "patch",
    ENTRY_PATH,
    {
      access: "write",
      summary: "Append to an entry",
      description: "On a new line, in the store; the entry is made where there is none.",
      body: z.strictObject({ append: text, maxTokens: z.int().min(0) }),
      answers: { 200: ENTRY },
    },
    async (call) => {
      const { store, scope } = placeOf(call);
      const { append, maxTokens } = call.body;
      await store.entries.append(scope, { key: call.ids.key, content: append }, { maxTokens });
      return written(store, scope, call.ids.key);
    },
  );

  routes.add(
    "delete",
    ENTRY_PATH,
    {
      access: "write",
      summary: "Remove an entry",
      description: "Its versions stay, and it can be restored. `?keepVersions=false` erases them, too.",
      query: { keepVersions: flag },
      answers: { 204: null },
    },
    async (call) => {
      const { store, scope } = placeOf(call);
      const { key } = call.ids;
      const isErased = call.query.keepVersions === "false";
      const isGone = !(await call.isAgain?.()) && (await store.entries.get(scope, key)) === null;
      // Of one that was removed before, the versions may still be erased.
      if (isGone && !(isErased && (await store.entries.versions(scope, key)).length > 0)) throw noEntry(scope, key);
      const options = isErased ? { keepVersions: 0 } : {};
      await writeEntry(call, store, scope, { entries: scope, key, content: null, options });
      return noContent();
    },
  );

  routes.add(
    "get",
    `${ENTRY_PATH}/versions`,
    { access: "read", summary: "List the versions of an entry", answers: { 200: listOf("Version", VERSION) } },
    async (call) => {
      const { store, scope } = placeOf(call);
      const data = await store.entries.versions(scope, call.ids.key);
      if (data.length === 0) await entryAt(store, scope, call.ids.key);
      return json({ data, nextCursor: null });
    },
  );

  routes.add(
    "post",
    `${ENTRY_PATH}/restore`,
    {
      access: "write",
      summary: "Write an old version of an entry as a new one",
      body: z.strictObject({ version: z.int().min(1) }),
      answers: { 200: ENTRY },
    },
    async (call) => {
      const { store, scope } = placeOf(call);
      const { key } = call.ids;
      const kept = (await store.entries.versions(scope, key)).find(({ version }) => version === call.body.version);
      if (kept?.content == null) throw noVersion(key, call.body.version);
      // No version has the value: it stays.
      const value = (await store.entries.get(scope, key))?.value;
      await writeEntry(call, store, scope, { entries: scope, key, ...fieldsOf(kept), content: kept.content, value });
      return written(store, scope, key);
    },
  );
}

const QUERY = {
  prefix: text.optional(),
  includeEnded: z.boolean().optional(),
  includeExpired: z.boolean().optional(),
  ...VIEW,
  filter: object.optional().openapi({ description: "`{ tags, value, and, or }`; docs/facts.md shows them." }),
};

type View = Parameters<Store["entries"]["list"]>[1];
type LabelCall<Path extends string = typeof LABEL> = Pick<Call<Path>, "store"> & {
  readonly ids: { readonly owner: string; readonly label: string };
};

function placeOf(call: LabelCall): { store: Store; scope: EntryScope } {
  const { store, scope } = memoryOf(call.store, call.ids.owner);
  return { store, scope: { ...scope, label: call.ids.label } };
}

async function list(call: Call & LabelCall, view: View): Promise<Response> {
  const { store, scope } = placeOf(call);
  const { limit, after, next } = pageOf(call);
  const found = await store.entries.list(scope, { ...view, after, limit: limit + 1 });
  if (found.length === 0) await assertOwner(store, scope);
  const data = found.slice(0, limit);
  return json({ data, nextCursor: next(found.length > limit ? data.at(-1)?.key : null) });
}

/** Makes a write, if the entry is as the request expects: in one transaction. Errors: `ENTRY_CONFLICT`. */
async function writeEntry(
  call: Pick<Call, "request">,
  store: Store,
  scope: EntryScope,
  write: EntryWrite,
): Promise<void> {
  const expected = expectedBy(call);
  const { key } = write;
  const only: KeptWrite[] = [];
  let { options } = write;
  if (expected === "none") options = { ...options, expectedContent: null };
  else if (expected !== null) {
    const asRead = await store.entries.get(scope, key);
    if (asRead === null || isOther(expected, tagOf(asRead))) {
      throw new StemmaError(
        "ENTRY_CONFLICT",
        { label: scope.label, key },
        "The entry changed since its tag was read. Read it again.",
      );
    }
    only.push({ entries: scope, asRead });
  }
  await store.writeTogether([...only, { ...write, options }]);
}

async function entryAt(store: Store, scope: EntryScope, key: string): Promise<ListedEntry> {
  const entry = await store.entries.get(scope, key);
  if (entry === null) throw noEntry(scope, key);
  return entry;
}

async function written(store: Store, scope: EntryScope, key: string): Promise<Response> {
  const entry = await store.entries.get(scope, key);
  return json(entry, 200, entry === null ? {} : { etag: tagOf(entry) });
}

function noEntry({ label }: EntryScope, key: string): StemmaError {
  return new StemmaError("ENTRY_NOT_FOUND", { label, key }, `There is no entry "${key}" under "${label}".`);
}
