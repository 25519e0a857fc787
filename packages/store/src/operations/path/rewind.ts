import { noMessage, StemmaError } from "@stemma/model";
import { type BlockKey, DEFAULT_KEPT_VERSIONS, type EntryScope, type StoredVersion } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import type { Operation } from "../../engine/operation.js";
import { readBlockVersions, writeBlock } from "../memory/blocks.js";
import { deleteEntry, readEntryVersions, writeEntry } from "../memory/entries.js";
import { listBlocks, listEntries, listLabels, listRemoved } from "../memory/memory-lists.js";
import { setActiveLeaf } from "../messages/messages.js";
import { readTime } from "./path.js";

const PAGE = 500;

/** The operation behind `SessionStore.rewindTo`. */
export function* rewindTo(sql: Dialect, sessionId: string, messageId: string): Operation<void> {
  const time = yield* readTime(sessionId, messageId);
  if (time === null) throw noMessage(sessionId, messageId);
  const writes = [
    ...(yield* blocksAsOf(sql, sessionId, time)),
    ...(yield* entriesAsOf(sql, sessionId, time)),
    ...(yield* removedAsOf(sql, sessionId, time)),
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

function* entriesAsOf(sql: Dialect, sessionId: string, time: string): Operation<Write[]> {
  const writes: Write[] = [];
  for (const { label } of yield* listLabels(sql, { sessionId })) {
    const scope: EntryScope = { sessionId, label };
    let page = yield* listEntries(sql, scope, { limit: PAGE });
    while (page.length > 0) {
      for (const { key, content, value, updatedAt } of page) {
        if (updatedAt <= time) continue;
        const versions = yield* readEntryVersions(sql, scope, key);
        const then = contentAsOf(key, versions, time);
        const note = noteOf(sessionId, versions);
        if (then === null) writes.push(() => deleteEntry(sql, scope, key, note));
        else if (then !== content) writes.push(() => writeEntry(sql, scope, { key, content: then, value }, note));
      }
      page = yield* listEntries(sql, scope, { limit: PAGE, after: page.at(-1)?.key });
    }
  }
  return writes;
}

function* removedAsOf(sql: Dialect, sessionId: string, time: string): Operation<Write[]> {
  const writes: Write[] = [];
  for (const { label, key } of yield* listRemoved(sql, { sessionId })) {
    const scope: EntryScope = { sessionId, label };
    const versions = yield* readEntryVersions(sql, scope, key);
    const content = contentAsOf(key, versions, time);
    if (content === null) continue;
    writes.push(() => writeEntry(sql, scope, { key, content }, noteOf(sessionId, versions)));
  }
  return writes;
}

// Null for what was not there then.
function contentAsOf(name: string, versions: readonly StoredVersion[], time: string): string | null {
  const then = versions.find(({ writtenAt }) => writtenAt <= time);
  if (then !== undefined) return then.content;
  if (versions.at(-1)?.version === 1) return null;
  const message = `"${name}" has no version from before ${time}, or it is kept no longer. Nothing was changed.`;
  throw new StemmaError("VERSION_NOT_FOUND", { label: name }, message);
}

// None of the versions that are there goes for this one.
function noteOf(sessionId: string, versions: readonly StoredVersion[]) {
  const keepVersions = Math.max(DEFAULT_KEPT_VERSIONS, versions.length + 1);
  return { origin: { author: "program" as const, sessionId }, keepVersions, writtenIn: sessionId };
}
