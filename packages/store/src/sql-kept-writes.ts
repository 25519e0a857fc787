import { assertKeptNames, assertSessionTexts } from "./assert-names.js";
import type { BlockKey, EntryScope, KeptWrite } from "./contract/store.js";
import type { Dialect } from "./engine/dialect.js";
import * as blocks from "./operations/memory/blocks.js";
import * as entries from "./operations/memory/entries.js";
import * as records from "./operations/memory/records.js";
import { noteOf } from "./operations/memory/versions.js";
import { updateSession } from "./operations/registry/sessions.js";
import { addUsage, importUsage } from "./operations/registry/usage.js";
import type { WriteOfKept } from "./sql/sql-calls.js";
import { messageWrite } from "./sql/sql-session.js";

/** Records that are written by one statement, each with six values. */
const RECORDS_AT_ONCE = 100;

/** The writes for a user where there is one. Records that are new, nearly all of them, are written together with those that follow. */
export function operationsOf(sql: Dialect, writes: readonly KeptWrite[], userId: string | undefined): WriteOfKept[] {
  const operations: WriteOfKept[] = [];
  for (let start = 0; start < writes.length; ) {
    const plain = plainRecords(writes.slice(start, start + RECORDS_AT_ONCE));
    const [first] = plain;
    operations.push(
      first === undefined
        ? operationOf(sql, writes[start] as KeptWrite, userId)
        : {
            kind: "records",
            key: first.scope,
            operation: () => records.writeRecords(sql, plain),
            writes: plain.length,
          },
    );
    start += plain.length || 1;
  }
  return operations;
}

// The records of one session with which the writes begin, as far as each is written over whatever is there.
function plainRecords(writes: readonly KeptWrite[]): records.PlainRecord[] {
  const found: records.PlainRecord[] = [];
  for (const write of writes) {
    if (!("records" in write) || !("value" in write) || write.value === null || write.options !== undefined) break;
    const { records: scope, key, value } = write;
    assertKeptNames(scope, key);
    if ((found[0]?.scope ?? scope).sessionId !== scope.sessionId) break;
    found.push({ scope, key, value });
  }
  return found;
}

// A write of several that are made together: as `set` and `delete` of the store make it.
function operationOf(sql: Dialect, write: KeptWrite, userId: string | undefined): WriteOfKept {
  if ("block" in write) {
    const { block, content, options = {} } = write;
    assertKeptNames(block);
    const note = noteOf(block, options);
    const operation = (owned: BlockKey) => blocks.writeBlock(sql, owned, content, options, note);
    return { kind: block.kind, key: block, operation: operation as WriteOfKept["operation"] };
  }
  if ("entries" in write) {
    const { entries: scope, key, content, value, options = {} } = write;
    if (content !== null) assertKeptNames(scope, key);
    const note = noteOf(scope, options);
    const operation = (owned: EntryScope) =>
      content === null
        ? entries.deleteEntry(sql, owned, key, note)
        : entries.writeEntry(sql, owned, { key, content, value }, note);
    return { kind: "entries", key: scope, operation };
  }
  if ("atVersion" in write) {
    const { records: scope, key, atVersion } = write;
    return { kind: "check", key: scope, operation: () => records.checkRecord(sql, scope, key, atVersion) };
  }
  if ("records" in write) {
    const { records: scope, key, value, options = {} } = write;
    if (value !== null) assertKeptNames(scope, key);
    const operation = () =>
      value === null
        ? records.deleteRecord(sql, scope, key, options.expectedVersion)
        : records.writeRecord(sql, scope, key, value, options);
    return { kind: "records", key: scope, operation };
  }
  if ("registered" in write) {
    const { registered: id } = write;
    if ("change" in write) assertSessionTexts({ name: write.change.name });
    const operation = () =>
      "change" in write
        ? updateSession(sql, id, write.change, userId)
        : "imported" in write
          ? importUsage(sql, id, write.imported, { rows: write.rows, userId })
          : addUsage(sql, id, write.usage, { model: write.model, userId });
    return { kind: "registry", key: { sessionId: id, label: "" }, operation };
  }
  return { kind: "messages", key: { sessionId: write.session, label: "" }, ...messageWrite(sql, write) };
}
