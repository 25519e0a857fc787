import {
  type BlockKey,
  DEFAULT_KEPT_VERSIONS,
  type EntryEnd,
  type EntryScope,
  type StoredVersion,
  type VersionOptions,
} from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, first, type Operation, run } from "../../engine/operation.js";
import { assertStorable, assertTimes, assertVersionNumber } from "../assert-storable.js";
import { isoNow } from "../registry/session-head.js";
import { dateSession } from "../registry/sessions.js";
import { EARLIEST, factText, type KeptFact, keptFact, NO_FACT, parseFact, versionFact } from "./entry-fact.js";

/** Names what has versions: a block, whose key is "", or an entry. */
export interface VersionKey {
  /** As the rows have it: a session's id, or what stands for a scope. */
  readonly sessionId: string;
  readonly kind: "block" | "entry";
  readonly label: string;
  readonly key: string;
}

/** How a write is noted, and the session in which it was made; null for none. */
export interface VersionNote extends VersionOptions {
  readonly writtenIn: string | null;
}

/** Where the versions of an entry stand. */
export function entryVersionKey({ sessionId, label }: EntryScope, key: string): VersionKey {
  return { sessionId, kind: "entry", label, key };
}

const AT = "session_id = ? AND kind = ? AND label = ? AND key = ?";

const valuesOf = ({ sessionId, kind, label, key }: VersionKey) => [sessionId, kind, label, key] as const;

/** The versions that are kept, newest first. */
export function* readVersions(key: VersionKey): Operation<StoredVersion[]> {
  const query = `SELECT ${VERSION_COLUMNS} FROM assistant_versions WHERE ${AT} ORDER BY version DESC`;
  const rows = yield* all<VersionRow>(query, ...valuesOf(key));
  return rows.map(versionOf);
}

export interface LastVersion {
  /** 0 where there is none. */
  readonly number: number;
  /** Whether something is there in it. */
  readonly isPresent: boolean;
  /** How it tells its time. */
  readonly fact: KeptFact;
}

/** The newest version. */
export function* lastVersion(key: VersionKey): Operation<LastVersion> {
  const query = `SELECT version, CASE WHEN content IS NULL THEN 0 ELSE 1 END AS present, fact
     FROM assistant_versions WHERE ${AT} ORDER BY version DESC LIMIT 1`;
  const row = yield* first<{ version: number; present: number; fact: string | null }>(query, ...valuesOf(key));
  const fact = parseFact(row?.fact ?? null) ?? NO_FACT;
  return { number: Number(row?.version ?? 0), isPresent: Number(row?.present ?? 0) === 1, fact };
}

/**
 * The end that versions of an entry, the newest first, give to one that it supersedes: since its present beginning, or where that is
 * unknown since it was written so. Undefined where the newest does not name it.
 */
export function endIn(versions: readonly StoredVersion[], key: string): Omit<EntryEnd, "by"> | undefined {
  const names = ({ content, fact }: StoredVersion) => content !== null && fact?.supersedes.includes(key) === true;
  const oldest = (isSo: (version: StoredVersion) => boolean) => {
    const other = versions.findIndex((version) => !isSo(version));
    return versions.slice(0, other < 0 ? undefined : other).findLast(names)?.writtenAt;
  };
  const invalidatedAt = oldest(names);
  // What is taken back stands as it stood before its removal.
  const undated = versions[0]?.fact?.merges
    ? EARLIEST
    : oldest((version) => version.content === null || (names(version) && version.fact?.validFrom === null));
  const validTo = versions[0]?.fact?.validFrom ?? undated;
  return invalidatedAt === undefined || validTo === undefined ? undefined : { validTo, invalidatedAt };
}

/** The version of a present content of which nothing is known but when it was written. */
export function unrecorded(version: number, content: string, writtenAt: string, fact = NO_FACT): StoredVersion {
  const unknown = { author: null, sessionId: null, messageIds: [], toolCallId: null };
  return { version, content, writtenAt, ...unknown, ...shown(fact) };
}

/** The version that a write makes. */
export function newVersion(
  version: number,
  content: string | null,
  { origin, writtenIn }: VersionNote,
  fact = NO_FACT,
): StoredVersion {
  assertStorable("A version's", { sessionId: writtenIn, toolCallId: origin?.toolCallId });
  return {
    version,
    content,
    writtenAt: isoNow(),
    author: origin?.author ?? "program",
    sessionId: writtenIn,
    messageIds: origin?.messageIds ?? [],
    toolCallId: origin?.toolCallId ?? null,
    ...shown(fact),
  };
}

function shown(kept: KeptFact): Pick<StoredVersion, "fact"> {
  const fact = versionFact(kept);
  return fact === undefined ? {} : { fact };
}

/** Keeps a version, and lets go of those that are too old. */
export function* keepVersion(
  key: VersionKey,
  version: StoredVersion,
  keep: number = DEFAULT_KEPT_VERSIONS,
): Operation<void> {
  if (keep > 0) yield* insertVersion(key, version);
  if (version.version <= keep) return;
  yield* run(`DELETE FROM assistant_versions WHERE ${AT} AND version <= ?`, ...valuesOf(key), version.version - keep);
}

function* insertVersion(key: VersionKey, version: StoredVersion): Operation<void> {
  yield* run(
    `INSERT INTO assistant_versions (session_id, kind, label, key, ${VERSION_COLUMNS})
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ...valuesOf(key),
    version.version,
    version.content,
    version.writtenAt,
    version.author,
    version.sessionId,
    version.messageIds.length === 0 ? null : JSON.stringify(version.messageIds),
    version.toolCallId,
    factText(keptFact(version.fact)),
  );
}

/** Brings along versions that were kept elsewhere. */
export function* importVersions(sql: Dialect, key: VersionKey, versions: readonly StoredVersion[]): Operation<void> {
  assertStorable("A version's", { label: key.label, key: key.key });
  for (const { version, content, writtenAt, author, sessionId, toolCallId } of versions) {
    assertStorable("A version's", { content, author, sessionId, toolCallId });
    assertTimes("A version's", { writtenAt });
    assertVersionNumber(version, "The number of a version");
  }
  // Whoever writes beside a session's messages registers it.
  yield* dateSession(sql, key.sessionId);
  for (const version of versions) yield* insertVersion(key, version);
}

/** Removes the versions of one block or entry. */
export function* removeVersions(key: VersionKey): Operation<void> {
  yield* run(`DELETE FROM assistant_versions WHERE ${AT}`, ...valuesOf(key));
}

/** Takes the key of an entry out of what the versions of others say of their predecessors and successors. */
export function* forgetInVersions({ sessionId, label }: EntryScope, forgotten: string): Operation<void> {
  const query = `SELECT key, version, fact FROM assistant_versions
     WHERE session_id = ? AND kind = 'entry' AND label = ? AND replace(fact, ?, '') <> fact`;
  const rows = yield* all<{ key: string; version: number; fact: string }>(
    query,
    ...[sessionId, label, JSON.stringify(forgotten)],
  );
  for (const { key, version, fact } of rows) {
    const { supersedes, ends, ...kept } = parseFact(fact) ?? NO_FACT;
    const others = {
      supersedes: supersedes.filter((each) => each !== forgotten),
      ends: ends.filter(({ by }) => by !== forgotten),
    };
    yield* run(
      `UPDATE assistant_versions SET fact = ? WHERE ${AT} AND version = ?`,
      factText({ ...kept, ...others }),
      ...valuesOf(entryVersionKey({ sessionId, label }, key)),
      version,
    );
  }
}

/** Removes all versions of a session, or of a scope. */
export function* removeAllVersions(sessionId: string): Operation<void> {
  yield* run("DELETE FROM assistant_versions WHERE session_id = ?", sessionId);
}

/** Copies the versions of a session's blocks and entries to another one. */
export function* copyVersions(from: string, to: string): Operation<void> {
  const insertion = `INSERT INTO assistant_versions (session_id, kind, label, key, ${VERSION_COLUMNS})
     SELECT ?, kind, label, key, ${VERSION_COLUMNS} FROM assistant_versions WHERE session_id = ?`;
  yield* run(insertion, to, from);
}

/** Gives the versions of a block or an entry to another scope, which has none of it. */
export function* moveVersions(key: VersionKey, to: string): Operation<void> {
  // Not by an UPDATE: rows stay on the server of their session.
  const insertion = `INSERT INTO assistant_versions (session_id, kind, label, key, ${VERSION_COLUMNS})
     SELECT ?, kind, label, key, ${VERSION_COLUMNS} FROM assistant_versions WHERE ${AT}`;
  yield* run(insertion, to, ...valuesOf(key));
  yield* removeVersions(key);
}

/** "" stands for none as well, and for what is shared. */
export function noteOf<V extends VersionOptions>({ sessionId }: BlockKey | EntryScope, version: V): V & VersionNote {
  return { ...version, writtenIn: version.origin?.sessionId ?? (sessionId === "" ? null : sessionId) };
}

export const VERSION_COLUMNS = "version, content, written_at, author, written_in, message_ids, tool_call_id, fact";

/** The version that a row holds. */
export function versionOf(row: VersionRow): StoredVersion {
  return {
    version: Number(row.version),
    content: row.content,
    writtenAt: row.written_at,
    author: row.author,
    sessionId: row.written_in,
    messageIds: parseMessageIds(row.message_ids) ?? [],
    toolCallId: row.tool_call_id,
    ...shown(parseFact(row.fact) ?? NO_FACT),
  };
}

/** The ids that a row names as JSON, [] for none; null for what is no list of ids, which a read takes for none. */
export function parseMessageIds(json: string | null): string[] | null {
  if (json === null) return [];
  try {
    const ids: unknown = JSON.parse(json);
    return Array.isArray(ids) && ids.every((id) => typeof id === "string") ? ids : null;
  } catch {
    return null;
  }
}

/** A row of a version. */
export interface VersionRow {
  readonly version: number;
  readonly content: string | null;
  readonly written_at: string;
  readonly author: StoredVersion["author"];
  readonly written_in: string | null;
  readonly message_ids: string | null;
  readonly tool_call_id: string | null;
  readonly fact: string | null;
}
