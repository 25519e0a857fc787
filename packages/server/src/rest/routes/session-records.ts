import { z } from "@hono/zod-openapi";
import { fromBase64, invalid, StemmaError, toBase64 } from "@stemma/model";
import type { RecordScope, Store, StoredRecord } from "@stemma/store";
import { HttpRefusal } from "../../http/problem.js";
import { pageOf } from "../cursor.js";
import { type Expected, expectedBy, isKnown, isOther } from "../etag.js";
import { assertThere, type Call, json, noContent, type Routes } from "../route.js";
import { anything, flag, listOf, PAGE, text, time } from "../schemas.js";

const PATH = "/v1/sessions/{session}/records";
const LABEL = `${PATH}/{label}` as const;
const RECORD_PATH = `${LABEL}/{key}` as const;

/** The content of a record that is written: JSON, or bytes. */
export const CONTENT = {
  value: anything.optional().openapi({ description: "Any JSON. Either this or `bytes`." }),
  bytes: text.optional().openapi({ description: "Base64, for what is no JSON." }),
  expiresAt: time.optional().openapi({ description: "Default: it stays." }),
};

const FORMAT = {
  format: z.enum(["json", "bytes"]).optional().openapi({ description: "`bytes`: all in base64, as they were stored." }),
};

const RECORD = z
  .object({
    key: text,
    value: anything.optional(),
    bytes: text.optional().openapi({ description: "Base64, of what is no JSON." }),
    version: z.int(),
    expiresAt: time.nullable(),
  })
  .openapi("StoredRecord");

export function recordRoutes(routes: Routes): void {
  routes.add(
    "get",
    PATH,
    {
      access: "read",
      summary: "List the labels under which a session has records",
      answers: { 200: listOf("RecordLabel", z.object({ label: text }).openapi("RecordLabel")) },
    },
    async ({ store, ids }) => {
      const data = await store.records.labels(ids.session);
      if (data.length === 0) await assertThere(store, ids.session);
      return json({ data: data.map((label) => ({ label })), nextCursor: null });
    },
  );

  routes.add(
    "get",
    LABEL,
    {
      access: "read",
      summary: "List records",
      description: "In the order of their keys.",
      query: { prefix: text.optional(), descending: flag, ...FORMAT, ...PAGE },
      answers: { 200: listOf("Record", RECORD) },
    },
    async (call) => {
      const { limit, after, next } = pageOf(call);
      const { prefix, descending, format } = call.query;
      const options = { prefix, descending: descending === "true", after, limit: limit + 1 };
      const found = await call.store.records.list(scopeOf(call), options);
      if (found.length === 0) await assertThere(call.store, call.ids.session);
      const page = found.slice(0, limit);
      const nextCursor = next(found.length > limit ? page.at(-1)?.key : null);
      return json({ data: page.map((record) => shown(record, format)), nextCursor });
    },
  );

  routes.add(
    "get",
    RECORD_PATH,
    { access: "read", summary: "Read a record", query: FORMAT, answers: { 200: RECORD, 304: null } },
    async (call) => {
      const record = await call.store.records.get(scopeOf(call), call.ids.key);
      if (record === null) throw await noRecord(call);
      const etag = tagOf(record);
      return isKnown(call, etag) ? noContent(304, { etag }) : json(shown(record, call.query.format), 200, { etag });
    },
  );

  routes.add(
    "put",
    RECORD_PATH,
    {
      access: "write",
      summary: "Write a record",
      description: "`If-Match` takes the tag of the record that is replaced; `If-None-Match: *` only makes a new one.",
      body: z.strictObject(CONTENT),
      answers: { 200: RECORD },
    },
    async (call) => {
      const expectedVersion = await versionBy(call, expectedBy(call));
      const { value, expiresAt } = recordOf(call.body);
      const options = { expectedVersion, expiresAt };
      const record = await call.store.records.set(scopeOf(call), call.ids.key, value, options);
      return json(shown(record), 200, { etag: tagOf(record) });
    },
  );

  routes.add(
    "delete",
    RECORD_PATH,
    { access: "write", summary: "Delete a record", answers: { 204: null } },
    async (call) => {
      const expectedVersion = await versionBy(call, expectedBy(call));
      const isDeleted = await call.store.records.delete(scopeOf(call), call.ids.key, { expectedVersion });
      if (!isDeleted) throw await noRecord(call);
      return noContent();
    },
  );
}

/** The bytes of a record that is given, and when it expires, in milliseconds since 1970. Errors: `INVALID_ARGUMENT`. */
export function recordOf(given: z.output<z.ZodObject<typeof CONTENT>>): { value: Uint8Array; expiresAt?: number } {
  const { value, bytes, expiresAt } = given;
  if ((value === undefined) === (bytes === undefined)) throw invalid("A record has either a value or bytes.");
  const content = bytes === undefined ? new TextEncoder().encode(JSON.stringify(value)) : bytesIn(bytes);
  if (expiresAt === undefined) return { value: content };
  const at = Date.parse(expiresAt);
  if (Number.isNaN(at)) throw invalid("expiresAt is a time, such as 2027-01-31T00:00:00Z.");
  return { value: content, expiresAt: at };
}

function bytesIn(text: string): Uint8Array {
  try {
    return fromBase64(text);
  } catch (cause) {
    throw invalid("The bytes of a record are base64.", {}, { cause });
  }
}

function shown({ key, value, version, expiresAt }: StoredRecord, format?: "json" | "bytes" | undefined) {
  const content = format === "bytes" ? null : jsonIn(value);
  return {
    key,
    ...(content ?? { bytes: toBase64(value) }),
    version,
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
  };
}

/** Null for what is no JSON. */
function jsonIn(bytes: Uint8Array): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)) };
  } catch {
    return null;
  }
}

type RecordCall = Pick<Call, "store"> & {
  readonly ids: { readonly session: string; readonly label: string; readonly key: string };
};

function scopeOf({ ids }: { readonly ids: Pick<RecordCall["ids"], "session" | "label"> }): RecordScope {
  return { sessionId: ids.session, label: ids.label };
}

const tagOf = ({ version }: StoredRecord) => `"v${version}"`;

/** The version that a write may replace: 0 for none, undefined for any. Errors: `RECORD_CONFLICT`. */
async function versionBy(call: RecordCall, expected: Expected): Promise<number | undefined> {
  if (expected === null) return undefined;
  if (expected === "none") return 0;
  const record = await call.store.records.get(scopeOf(call), call.ids.key);
  if (record !== null && !isOther(expected, tagOf(record))) return record.version;
  const { label, key } = call.ids;
  throw new StemmaError("RECORD_CONFLICT", { label, key }, "The record changed since its tag was read. Read it again.");
}

/** Whoever may not know of the session is told that it is not there. */
async function noRecord({ store, ids }: { readonly store: Store; readonly ids: { readonly session: string } }) {
  await assertThere(store, ids.session);
  return new HttpRefusal("NOT_FOUND", "There is no record of this key.");
}
