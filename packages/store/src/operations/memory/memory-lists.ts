import type { ListedBlock, ListOptions, MemoryScope, RememberedVersion } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, column, type Operation } from "../../engine/operation.js";
import { MEMORY_SCOPES, memoryOwner, SCOPES } from "../../sql/session-id.js";
import { ofOwner, upgradedBlocks } from "../messages/upgraded-rows.js";
import type { BlockRow } from "./blocks.js";
import { chosenBy } from "./entry-views.js";
import { orderedPage } from "./ordered-page.js";
import { PROGRAMS_OWN } from "./records.js";
import { VERSION_COLUMNS, type VersionRow, versionOf } from "./versions.js";

/** The operation behind `BlockStore.list`. */
export function* listBlocks(sql: Dialect, { sessionId }: MemoryScope): Operation<ListedBlock[]> {
  const query = `SELECT label, content, version, updated_at FROM cf_agents_context_blocks
     WHERE session_id = ? AND kind = 'block' ORDER BY ${sql.bytes.ordered("label")}`;
  const rows = yield* all<BlockRow & { label: string }>(query, sessionId);
  const own = new Set(rows.map(({ label }) => label));
  const upgraded = (yield* upgradedBlocks<BlockRow>(sessionId, "content, version, updated_at")).filter(
    ({ label }) => !own.has(label),
  );
  return [...rows, ...upgraded].map(({ label, content, version, updated_at }) => ({
    label,
    content,
    version: Number(version),
    updatedAt: updated_at,
  }));
}

/** The operation behind `BlockStore.owners`. */
export function* listOwners(
  sql: Dialect,
  kind: "user" | "key",
  { only, ...options }: ListOptions & { readonly only?: string | undefined },
): Operation<string[]> {
  const scope = MEMORY_SCOPES[kind];
  const after = options.after === undefined ? undefined : scope + options.after;
  const page = orderedPage(sql, "session_id", { ...options, prefix: scope + (only ?? ""), after });
  const query = `SELECT session_id FROM (
       SELECT session_id FROM cf_agents_context_blocks WHERE kind = 'block' UNION SELECT session_id FROM cf_agents_search_entries
       UNION SELECT session_id FROM assistant_versions
     ) AS owners WHERE ${page.condition} ${page.order}`;
  const ids = yield* column<string>(query, ...page.values, page.limit);
  const owners = ids.map((id) => id.slice(scope.length));
  return only === undefined ? owners : owners.filter((owner) => owner === only);
}

/** The operation behind `SessionRegistry.unregistered`. */
export function* listUnregistered(sql: Dialect, options: ListOptions): Operation<string[]> {
  const page = orderedPage(sql, "session_id", options);
  const query = `SELECT session_id FROM (
       SELECT session_id FROM cf_agents_context_blocks UNION SELECT session_id FROM cf_agents_search_entries
       UNION SELECT session_id FROM assistant_versions UNION SELECT session_id FROM assistant_records WHERE ${PROGRAMS_OWN}
     ) AS kept WHERE ${page.condition} AND substr(session_id, 1, ${SCOPES.length}) <> ?
       AND NOT EXISTS (SELECT 1 FROM assistant_sessions s WHERE s.id = kept.session_id) ${page.order}`;
  return yield* column<string>(query, ...page.values, SCOPES, page.limit);
}

/** The operation behind `EntryStore.labels`. */
export function* listLabels(sql: Dialect, { sessionId }: MemoryScope): Operation<{ label: string; count: number }[]> {
  const { where, values } = ofOwner(sql, sessionId);
  const holding = yield* chosenBy(sql, { sessionId, label: "" }, {});
  const query = `SELECT e.label AS label, count(CASE WHEN ${holding.condition} THEN 1 END) AS count FROM cf_agents_search_entries e
     WHERE ${where} GROUP BY e.label ORDER BY ${sql.bytes.ordered("e.label")}`;
  const rows = yield* all<{ label: string; count: number }>(query, ...holding.values, ...values);
  return rows.map(({ label, count }) => ({ label, count: Number(count) }));
}

/** The operation behind `EntryStore.removed`. */
export function* listRemoved(sql: Dialect, { sessionId }: MemoryScope): Operation<{ label: string; key: string }[]> {
  const query = `SELECT v.label AS label, v.key AS key FROM assistant_versions v
     WHERE v.session_id = ? AND v.kind = 'entry' AND NOT EXISTS (
       SELECT 1 FROM cf_agents_search_entries e WHERE e.session_id = v.session_id AND e.label = v.label AND e.key = v.key)
     GROUP BY v.label, v.key ORDER BY ${sql.bytes.ordered("v.label")}, ${sql.bytes.ordered("v.key")}`;
  return yield* all<{ label: string; key: string }>(query, sessionId);
}

/** The operation behind `SessionStore.writes`. */
export function* readWrites(sessionId: string, messageId: string): Operation<RememberedVersion[]> {
  const rows = yield* all<VersionRow & { session_id: string; kind: string; label: string; key: string }>(
    `SELECT session_id, kind, label, key, ${VERSION_COLUMNS} FROM assistant_versions
     WHERE written_in = ? AND replace(message_ids, ?, '') <> message_ids
     ORDER BY written_at, session_id, kind, label, key, version`,
    sessionId,
    JSON.stringify(messageId),
  );
  return rows
    .map((row) => ({
      ...versionOf(row),
      owner: memoryOwner(row.session_id),
      label: row.label,
      key: row.kind === "block" ? null : row.key,
    }))
    .filter(({ messageIds }) => messageIds.includes(messageId));
}
