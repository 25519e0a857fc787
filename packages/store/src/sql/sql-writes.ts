import {
  type EncodedMessage,
  givenMessage,
  MOST_AT_ONCE,
  messageChanged,
  messageExists,
  type SessionMessage,
  sameJson,
} from "@stemma/model";
import type { BlockKey, EntryScope, KeptWrite, MessageWrite, ParentRef, UpsertResult } from "../contract/store.js";
import type { Appended, Dialect } from "../engine/dialect.js";
import type { Operation } from "../engine/operation.js";
import * as blocks from "../operations/memory/blocks.js";
import * as entries from "../operations/memory/entries.js";
import * as records from "../operations/memory/records.js";
import { noteOf } from "../operations/memory/versions.js";
import { append, clearMessages, moveLeaf, updateMessage, upsertMessage } from "../operations/messages/messages.js";
import { appendSibling, selectBranch } from "../operations/path/branches.js";
import { readMessage } from "../operations/path/path.js";
import { updateSession } from "../operations/registry/sessions.js";
import { addUsage, importUsage } from "../operations/registry/usage.js";

import { assertEntryWrite } from "./entry-arguments.js";
import { assertNames, assertSessionFits, assertSessionId, assertSessionTexts } from "./session-id.js";
import type { WriteOfItem } from "./sql-calls.js";
import { encodeAll, encodeFor, encodeInSteps, insertedOf } from "./sql-session.js";

/** Records that are written by one statement, each with six values. */
const RECORDS_AT_ONCE = 100;

/** The writes for a user where there is one. Records that are new, nearly all of them, are written together with those that follow. */
export function operationsOf(sql: Dialect, writes: readonly KeptWrite[], userId: string | undefined): WriteOfItem[] {
  const operations: WriteOfItem[] = [];
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
    assertNames(scope, key);
    if ((found[0]?.scope ?? scope).sessionId !== scope.sessionId) break;
    found.push({ scope, key, value });
  }
  return found;
}

// A write of several that are made together: as `set` and `delete` of the store make it.
function operationOf(sql: Dialect, write: KeptWrite, userId: string | undefined): WriteOfItem {
  if ("block" in write) {
    const { block, content, options = {} } = write;
    assertNames(block);
    const note = noteOf(block, options);
    const operation = (owned: BlockKey) => blocks.writeBlock(sql, owned, content, options, note);
    return { kind: block.kind, key: block, operation: operation as WriteOfItem["operation"] };
  }
  if ("asRead" in write) {
    const { entries: scope, asRead } = write;
    return { kind: "entries", key: scope, operation: (owned) => entries.checkEntry(sql, owned as EntryScope, asRead) };
  }
  if ("entries" in write) {
    assertEntryWrite(write);
    const { entries: scope, key, content, options = {} } = write;
    if (content !== null) assertNames(scope, key);
    const note = noteOf(scope, options);
    const operation = (owned: EntryScope) =>
      content === null
        ? entries.deleteEntry(sql, owned, key, note)
        : entries.writeEntry(sql, owned, { ...write, content }, note);
    return { kind: "entries", key: scope, operation };
  }
  if ("atVersion" in write) {
    const { records: scope, key, atVersion } = write;
    return { kind: "check", key: scope, operation: () => records.checkRecord(sql, scope, key, atVersion) };
  }
  if ("records" in write) {
    const { records: scope, key, value, options = {} } = write;
    if (value !== null) assertNames(scope, key);
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

/** A write of messages that is made together with others. */
interface MessageOperation {
  /** Gives the ids of the messages that it inserted, or of the leaf that it made active. */
  operation(): Operation<readonly string[]>;
  /** It makes other writers of the session wait by itself. */
  readonly locks?: boolean | undefined;
}

/** A write of messages as the method of `SessionStore` makes it. Messages are validated before it runs. Errors: `INVALID_ARGUMENT` for the id. */
function messageWrite(sql: Dialect, write: MessageWrite): MessageOperation {
  const { session: id } = write;
  assertSessionId(id);
  if ("clear" in write) return { operation: () => idsFrom(clearMessages(sql, id), () => []) };
  if ("activeLeaf" in write) {
    const { activeLeaf } = write;
    return {
      operation: () => idsFrom(moveLeaf(sql, id, activeLeaf, write), () => (activeLeaf === null ? [] : [activeLeaf])),
    };
  }
  if ("selectBranch" in write) {
    return { operation: () => idsFrom(selectBranch(sql, id, write.selectBranch), (leaf) => [leaf.id]) };
  }
  if ("update" in write) return updating(sql, id, write.update, write.expected);
  assertSessionFits(id);
  if ("upsert" in write) return upserting(sql, id, write.upsert, write.parent);
  if ("appendSibling" in write) {
    const message = encodeFor(sql, write.appendSibling);
    return {
      operation: () => idsFrom(appendSibling(sql, id, write.of, message), (result) => insertedOf([message], result)),
    };
  }
  return appending(sql, write);
}

type AppendWrite = Extract<MessageWrite, { readonly append: unknown }>;

function appending(sql: Dialect, write: AppendWrite): MessageOperation {
  const { session: id, append: given, parent, expectedLeaf } = write;
  if (given.length > MOST_AT_ONCE) return appendingInSteps(sql, write);
  const { encoded, summaryIds } = encodeAll(sql, given);
  const isPlain = summaryIds.length === 0 && expectedLeaf === undefined;
  const native = isPlain && sql.native?.mayAppend(encoded, parent) ? sql.native : null;
  return {
    locks: native !== null,
    *operation() {
      const result =
        native === null
          ? yield* append(sql, id, encoded, parent, summaryIds, write)
          : yield* native.append(id, encoded, parent, undefined);
      return writtenIds(write, encoded, result);
    },
  };
}

function appendingInSteps(sql: Dialect, write: AppendWrite): MessageOperation {
  const { session: id, append: given, parent } = write;
  const read = encodeInSteps(sql, given);
  return {
    *operation() {
      const { encoded, summaryIds } = yield* read();
      return writtenIds(write, encoded, yield* append(sql, id, encoded, parent, summaryIds, write));
    },
  };
}

// Errors: `MESSAGE_EXISTS` for a known one where all are to be new.
function writtenIds(
  { session: id, onlyNew = false }: AppendWrite,
  encoded: readonly EncodedMessage[],
  result: Appended,
) {
  const known = onlyNew ? result.inserted.indexOf(false) : -1;
  if (known !== -1) throw messageExists(id, (encoded[known] as EncodedMessage).id);
  return insertedOf(encoded, result);
}

function updating(
  sql: Dialect,
  id: string,
  given: SessionMessage,
  expected: SessionMessage | undefined,
): MessageOperation {
  const message = encodeFor(sql, given);
  const before = expected === undefined ? null : givenMessage(expected);
  return {
    *operation() {
      if (before !== null && !sameJson(yield* readMessage(sql, id, message.id), before)) {
        throw messageChanged(id, message.id);
      }
      yield* updateMessage(sql, id, message);
      return [];
    },
  };
}

function upserting(sql: Dialect, id: string, given: SessionMessage, parent: ParentRef): MessageOperation {
  const message = encodeFor(sql, given);
  const idsOf = ({ inserted }: UpsertResult) => (inserted ? [message.id] : []);
  return { operation: () => idsFrom(upsertMessage(sql, id, message, parent), idsOf) };
}

function* idsFrom<T>(operation: Operation<T>, idsOf: (result: T) => readonly string[]): Operation<readonly string[]> {
  return idsOf(yield* operation);
}
