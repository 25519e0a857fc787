import { noMessage, StemmaError, sameJson } from "@stemma/model";
import { type BlockKey, DEFAULT_KEPT_VERSIONS, type EntryScope, type StoredVersion } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import type { Operation } from "../../engine/operation.js";
import { readBlockVersions, writeBlock } from "../memory/blocks.js";
import { deleteEntry, readEntryVersions, writeEntry } from "../memory/entries.js";
import { fieldsOf } from "../memory/entry-fact.js";
import { EVERY, listEntries } from "../memory/entry-views.js";
import { listBlocks, listLabels, listRemoved } from "../memory/memory-lists.js";
import { setActiveLeaf } from "../messages/messages.js";
import { readTime } from "./path.js";

const PAGE = 500;

/** The operation behind `SessionStore.rewindTo`. */
export function* rewindTo(
  sql: Dialect,
  sessionId: string,
  messageId: string,
  except: readonly string[],
): Operation<void> {
  const time = yield* readTime(sessionId, messageId);
  if (time === null) throw noMessage(sessionId, messageId);
  const writes = [
    ...(yield* blocksAsOf(sql, sessionId, time)),
    ...(yield* removedAsOf(sql, sessionId, time, except)),
    ...(yield* entriesAsOf(sql, sessionId, time, except)),
  ];
  for (const write of writes) yield* write();
  yield* setActiveLeaf(sql, sessionId, messageId);
}

type Write = () => Operation<unknown>;

function* blocksAsOf(sql: Dialect, sessionId: string, time: string): Operation<Write[]> {
  const writes: Write[] = [];
  for (const { label, content, updatedAt } of yield* listBlocks(sql, { sessionId })) {
    if (updatedAt <= time) continue;
    const key: BlockKey = { sessionId, kind: "block", label };
    const versions = yield* readBlockVersions(key);
    const then = contentAsOf(label, versions, time) ?? "";
    if (then !== content) writes.push(() => writeBlock(sql, key, then, {}, noteOf(sessionId, versions)));
  }
  return writes;
}

function* entriesAsOf(sql: Dialect, sessionId: string, time: string, except: readonly string[]): Operation<Write[]> {
  const writes: Write[] = [];
  for (const { label } of yield* listLabels(sql, { sessionId })) {
    if (except.includes(label)) continue;
    const scope: EntryScope = { sessionId, label };
    let page = yield* listEntries(sql, scope, { ...EVERY, limit: PAGE });
    while (page.length > 0) {
      for (const { key, content, value, updatedAt, ...fact } of page) {
        if (updatedAt <= time) continue;
        const versions = yield* readEntryVersions(sql, scope, key);
        const then = versionAsOf(key, versions, time);
        const note = noteOf(sessionId, versions);
        const before = then?.content ?? null;
        if (then === null || before === null) writes.push(() => deleteEntry(sql, scope, key, note));
        else if (before !== content || !sameJson(fieldsOf({ fact }), fieldsOf(then))) {
          writes.push(() => writeEntry(sql, scope, { key, content: before, value, ...fieldsOf(then) }, note));
        }
      }
      page = yield* listEntries(sql, scope, { ...EVERY, limit: PAGE, after: page.at(-1)?.key });
    }
  }
  return writes;
}

function* removedAsOf(sql: Dialect, sessionId: string, time: string, except: readonly string[]): Operation<Write[]> {
  const writes: { readonly writtenAt: string; readonly write: Write }[] = [];
  for (const { label, key } of yield* listRemoved(sql, { sessionId })) {
    if (except.includes(label)) continue;
    const scope: EntryScope = { sessionId, label };
    const versions = yield* readEntryVersions(sql, scope, key);
    const then = versionAsOf(key, versions, time);
    const content = then?.content ?? null;
    if (then === null || content === null) continue;
    const write = () => writeEntry(sql, scope, { key, content, ...fieldsOf(then) }, noteOf(sessionId, versions));
    writes.push({ writtenAt: then.writtenAt, write });
  }
  // An entry comes back before those that supersede it.
  return writes.sort((one, other) => (one.writtenAt < other.writtenAt ? -1 : 1)).map(({ write }) => write);
}

const contentAsOf = (name: string, versions: readonly StoredVersion[], time: string) =>
  versionAsOf(name, versions, time)?.content ?? null;

// Null for what was not there then.
function versionAsOf(name: string, versions: readonly StoredVersion[], time: string): StoredVersion | null {
  const then = versions.find(({ writtenAt }) => writtenAt <= time);
  if (then !== undefined) return then;
  if (versions.at(-1)?.version === 1) return null;
  const message = `"${name}" has no version from before ${time}, or it is kept no longer. Nothing was changed.`;
  throw new StemmaError("VERSION_NOT_FOUND", { label: name }, message);
}

// None of the versions that are there goes for this one.
function noteOf(sessionId: string, versions: readonly StoredVersion[]) {
  const keepVersions = Math.max(DEFAULT_KEPT_VERSIONS, versions.length + 1);
  return { origin: { author: "program" as const, sessionId }, keepVersions, writtenIn: sessionId };
}
