import { inspect, isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { collect } from "../../packages/conformance/src/samples.js";
import { StemmaError } from "../../packages/model/src/errors.js";
import { decodeMessage } from "../../packages/model/src/messages/codec.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import type { OldDatabase, Row } from "./old-rows.js";

const TABLES = [
  "assistant_sessions",
  "assistant_messages",
  "assistant_compactions",
  "cf_agents_context_blocks",
  "cf_agents_search_entries",
  "assistant_records",
  "assistant_usage",
] as const;

type Table = (typeof TABLES)[number];

/** What a database held before it was upgraded. */
export async function readOldRows(database: OldDatabase): Promise<Map<Table, Row[]>> {
  const found = new Map<Table, Row[]>();
  for (const table of TABLES)
    if ((await database.columns(table)).length > 0) found.set(table, await database.all(table));
  return found;
}

/** How a row of a table is read now; what it gives must equal the fields of the same names, as `asRead` gives them. */
const READERS: Record<Table, (store: Store, row: Row) => Promise<Row | null>> = {
  assistant_sessions: async (store, { id }) => {
    const found = await store.sessions.get(String(id));
    if (found === null) return null;
    // The date of the latest message, where that is later.
    const { updated_at: _changed, ...fields } = found;
    return fields;
  },
  assistant_messages: async (store, { id, session_id }) => {
    const all = await collect(store.session(String(session_id)).messages());
    const found = all.find((each) => each.message.id === id);
    return found === undefined ? null : { content: found.message, created_at: found.storedAt };
  },
  assistant_compactions: async (store, { id, session_id }) => {
    const found = (await store.session(String(session_id)).compactions()).find((each) => each.id === id);
    return found === undefined ? null : { summary: found.summary, created_at: found.createdAt };
  },
  cf_agents_context_blocks: async (store, { session_id, label }) => {
    const named = { sessionId: String(session_id ?? ""), kind: "block", label: String(label) } as const;
    const found = await store.blocks.get(session_id === undefined ? { ...named, upgradedLabel: named.label } : named);
    return found && { content: found.content };
  },
  cf_agents_search_entries: async (store, { session_id, label, key }) => {
    const found = await store.entries.get({ sessionId: String(session_id ?? ""), label: String(label) }, String(key));
    if (found === null) return null;
    return { content: found.content, value: found.value, created_at: found.createdAt, updated_at: found.updatedAt };
  },
  assistant_records: async (store, { session_id, label, key }) => {
    const found = await store.records.get({ sessionId: String(session_id), label: String(label) }, String(key));
    return found && { value: found.value, version: found.version };
  },
  assistant_usage: async (store, { session_id, model, day }) => {
    const rows = await store.sessions.usageRows(String(session_id));
    const found = rows.find((each) => each.model === model && each.day === day);
    return found === undefined ? null : { input_tokens: found.inputTokens, cost: found.cost };
  },
};

/** Every row is as it was, or the check tells of it. */
export async function expectUpgraded(store: Store, before: ReadonlyMap<Table, readonly Row[]>): Promise<void> {
  const { problems = [] } = (await store.check?.()) ?? {};
  const isTold = (table: Table, row: Row) =>
    problems.some(({ rule, table: where, id, sessionId }) =>
      rule === "session" ? sessionId === (row.session_id ?? row.id) : where === table && id === nameOf(table, row),
    );
  const lost: unknown[] = [];
  for (const [table, rows] of before) {
    for (const row of rows) {
      const now = await readNow(store, table, row);
      const names = Object.keys(now ?? {}).filter((name) => name in row);
      const then = Object.fromEntries(names.map((name) => [name, asRead(name, row)]));
      const found = now && Object.fromEntries(names.map((name) => [name, now[name]]));
      if (!isDeepStrictEqual(found, then) && !isTold(table, row))
        lost.push({
          table,
          session: row.session_id,
          name: nameOf(table, row),
          fields:
            found &&
            names
              .filter((name) => !isDeepStrictEqual(found[name], then[name]))
              .map((name) => [name, found[name], then[name]]),
        });
    }
  }
  expect(inspect(lost, { depth: 5 })).toBe("[]");
}

// Whatever refuses to be read must be told of by the check.
async function readNow(store: Store, table: Table, row: Row): Promise<Row | null> {
  try {
    return await READERS[table](store, row);
  } catch (error) {
    if (StemmaError.isInstance(error)) return null;
    throw error;
  }
}

function nameOf(table: Table, row: Row): string {
  if (table === "cf_agents_context_blocks") return String(row.label);
  if (table === "cf_agents_search_entries" || table === "assistant_records") return String(row.key);
  return String(row.id ?? row.session_id);
}

function asRead(name: string, row: Row): unknown {
  const value = row[name];
  if (name === "content" && "role" in row) return decodeMessage(String(value));
  if (name === "value")
    return typeof value === "string"
      ? JSON.parse(value)
      : value instanceof Uint8Array
        ? new Uint8Array(value)
        : undefined;
  if (name === "metadata") return typeof value === "string" ? JSON.parse(value) : value;
  if (name.endsWith("_at")) return timeOf(value);
  return typeof value === "string" && /_tokens$|^version$/.test(name) ? Number(value) : value;
}

function timeOf(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  const text = String(value);
  return new Date(text.includes("T") ? text : `${text.replace(" ", "T")}Z`).toISOString();
}
