import { z } from "@hono/zod-openapi";
import { StemmaError } from "@stemma/model";
import type { BlockKey, MemoryScope, Store } from "@stemma/store";
import { pageOf } from "../cursor.js";
import { type Expected, expectedBy, isKnown, isOther } from "../etag.js";
import { memoryOf } from "../owner.js";
import { assertThere, json, noContent, type Routes } from "../route.js";
import { BLOCK, listOf, PAGE, text, VERSION } from "../schemas.js";

const PATH = "/v1/memory/{owner}";
const BLOCK_PATH = `${PATH}/blocks/{label}` as const;

export function blockRoutes(routes: Routes): void {
  routes.add(
    "get",
    `${PATH}/blocks`,
    { access: "read", summary: "List blocks", query: PAGE, answers: { 200: listOf("Block", BLOCK) } },
    async (call) => {
      const { store, scope } = memoryOf(call.store, call.ids.owner);
      const { limit, after, next } = pageOf(call);
      const all = await store.blocks.list(scope);
      if (all.length === 0) await assertOwner(store, scope);
      const from = after === undefined ? 0 : all.findIndex(({ label }) => label === after) + 1;
      const data = all.slice(from, from + limit);
      return json({ data, nextCursor: next(from + limit < all.length ? data.at(-1)?.label : null) });
    },
  );

  routes.add(
    "get",
    BLOCK_PATH,
    { access: "read", summary: "Read a block", answers: { 200: BLOCK, 304: null } },
    async (call) => {
      const { store, key } = keyOf(call);
      const block = await store.blocks.get(key);
      if (block === null) throw noBlock(call.ids.label);
      const tag = tagOf(block);
      if (isKnown(call, tag)) return noContent(304, { etag: tag });
      return json({ label: key.label, ...block }, 200, { etag: tag });
    },
  );

  routes.add(
    "put",
    BLOCK_PATH,
    {
      access: "write",
      summary: "Replace a block",
      description:
        "`If-Match` takes the tag of the version that is replaced; `If-None-Match: *` only makes a new block.",
      body: z.strictObject({ content: text }),
      answers: { 200: BLOCK },
    },
    async (call) => {
      const { store, key } = keyOf(call);
      const expectedVersion = await versionBy(store, key, expectedBy(call));
      const block = await store.blocks.set(key, call.body.content, { expectedVersion });
      return json({ label: key.label, ...block }, 200, { etag: tagOf(block) });
    },
  );

  routes.add(
    "patch",
    BLOCK_PATH,
    {
      access: "write",
      summary: "Append to a block",
      description: "On a new line; what several writers append at once is all kept.",
      body: z.strictObject({ append: text, maxTokens: z.int().min(0) }),
      answers: { 200: BLOCK },
    },
    async (call) => {
      const { store, key } = keyOf(call);
      const { append, maxTokens } = call.body;
      const block = await store.blocks.append(key, append, { maxTokens });
      return json({ label: key.label, ...block }, 200, { etag: tagOf(block) });
    },
  );

  routes.add(
    "delete",
    BLOCK_PATH,
    {
      access: "write",
      summary: "Erase a block",
      description: "With its versions. `If-Match` is looked at before, not in the same transaction.",
      answers: { 204: null },
    },
    async (call) => {
      const { store, key } = keyOf(call);
      const block = await store.blocks.get(key);
      if (block === null && !(await call.isAgain?.())) throw noBlock(key.label);
      if (block !== null && isOther(expectedBy(call), tagOf(block))) throw changed(key.label);
      await store.blocks.delete(key);
      return noContent();
    },
  );

  routes.add(
    "get",
    `${BLOCK_PATH}/versions`,
    { access: "read", summary: "List the versions of a block", answers: { 200: listOf("Version", VERSION) } },
    async (call) => {
      const { store, key } = keyOf(call);
      const data = await store.blocks.versions(key);
      if (data.length === 0 && (await store.blocks.get(key)) === null) throw noBlock(key.label);
      return json({ data, nextCursor: null });
    },
  );

  routes.add(
    "post",
    `${BLOCK_PATH}/restore`,
    {
      access: "write",
      summary: "Write an old version of a block as a new one",
      body: z.strictObject({ version: z.int().min(1) }),
      answers: { 200: BLOCK },
    },
    async (call) => {
      const { store, key } = keyOf(call);
      const kept = (await store.blocks.versions(key)).find(({ version }) => version === call.body.version);
      if (kept?.content == null) throw noVersion(key.label, call.body.version);
      const expectedVersion = await versionBy(store, key, expectedBy(call));
      const block = await store.blocks.set(key, kept.content, { expectedVersion });
      return json({ label: key.label, ...block }, 200, { etag: tagOf(block) });
    },
  );
}

interface BlockCall {
  readonly store: Store;
  readonly ids: { readonly owner: string; readonly label: string };
}

function keyOf(call: BlockCall): { store: Store; key: BlockKey } {
  const { store, scope } = memoryOf(call.store, call.ids.owner);
  return { store, key: { ...scope, kind: "block", label: call.ids.label } };
}

const tagOf = ({ version }: { readonly version: number }) => `"v${version}"`;

/** The version that a write may replace: 0 for none, undefined for any. */
async function versionBy({ blocks }: Store, key: BlockKey, expected: Expected): Promise<number | undefined> {
  if (expected === null) return undefined;
  if (expected === "none") return 0;
  const named = expected === "any" ? [] : expected.tags.flatMap((tag) => /^"v(\d{1,15})"$/.exec(tag)?.[1] ?? []);
  if (named.length === 1) return Number(named[0]);
  const present = await blocks.get(key);
  if (present === null || (expected !== "any" && isOther(expected, tagOf(present)))) throw changed(key.label);
  return present.version;
}

/** Throws `SESSION_NOT_FOUND` where the owner of an empty memory is a session that is not there. */
export async function assertOwner(store: Store, { sessionId }: MemoryScope): Promise<void> {
  if (sessionId !== "") await assertThere(store, sessionId);
}

function noBlock(label: string): StemmaError {
  return new StemmaError("BLOCK_NOT_FOUND", { label }, `There is no block "${label}".`);
}

/** The error for a version that is not kept. */
export function noVersion(label: string, version: number): StemmaError {
  return new StemmaError("VERSION_NOT_FOUND", { label, version }, `Version ${version} of "${label}" is not kept.`);
}

function changed(label: string): StemmaError {
  return new StemmaError("BLOCK_CONFLICT", { label }, `"${label}" changed since its tag was read. Read it again.`);
}
