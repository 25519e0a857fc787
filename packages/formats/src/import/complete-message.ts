import type { SessionMessage } from "@stemma/model";
import {
  decodeJson,
  encodeJson,
  isJsonObject,
  type JsonObject,
  NAME_LIMITS,
  StemmaError,
  utf8Length,
} from "@stemma/model";
import type { KeptWrite, RecordScope, Store, UsageRow } from "@stemma/store";
import type { KeptPiece, ParsedSession, Usage } from "../stemma/session-file.js";

/** Fields of a message's metadata under which formats note the pieces of the file that the message was made of. */
const FORMATS = ["pi", "openai", "claudeCode", "codex", "imported"];

/**
 * Gives a stored message what its file has grown by: the result of a call, or further parts. Parts that are complete stay
 * as they are. Resolves to whether there was anything.
 */
export async function completeMessage(store: Store, session: string, message: SessionMessage): Promise<boolean> {
  const format = FORMATS.find((name) => sourcesOf(message, name) > 0);
  // A message of one piece was complete when it was written.
  if (format === undefined) return false;
  for (;;) {
    const old = await store.session(session).message(message.id);
    const update = old === null ? null : completed(old, message, format);
    if (old === null || update === null) return false;
    try {
      await store.writeTogether([{ session, update, expected: old }]);
      return true;
    } catch (error) {
      // Another import, or a program, was faster.
      if (!StemmaError.isInstance(error, "MESSAGE_CHANGED")) throw error;
    }
  }
}

// Null where there is nothing to add.
function completed(old: SessionMessage, message: SessionMessage, format: string): SessionMessage | null {
  const before = sourcesOf(old, format);
  if (before === 0 || before >= sourcesOf(message, format)) return null;
  const parts = old.parts.map((part, index) => {
    const answered = message.parts[index];
    return part.state === "input-available" && answered !== undefined && answered.toolCallId === part.toolCallId
      ? answered
      : part;
  });
  const metadata = { ...asObject(old.metadata), [format]: asObject(message.metadata)[format] };
  return { ...old, parts: [...parts, ...message.parts.slice(parts.length)], metadata };
}

function sourcesOf(message: SessionMessage, format: string): number {
  const { entries, sources } = asObject(asObject(message.metadata)[format]);
  const noted = Array.isArray(entries) ? entries : sources;
  return Array.isArray(noted) ? noted.length : 0;
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The label of the records that hold, word for word, what a file says beside the messages. */
const IMPORTED = "imported";

const BATCH = 200;

/** Writes the pieces that are not there yet. Each is a record of the session: `{ line, messageId, source }` as JSON. */
export async function keepPieces(store: Store, sessionId: string, pieces: readonly KeptPiece[]): Promise<void> {
  const records = scopeOf(sessionId);
  let writes: KeptWrite[] = [];
  const flush = async (): Promise<void> => {
    if (writes.length > 0) await store.writeTogether(writes);
    writes = [];
  };
  for (const { key, source, at, messageId } of pieces) {
    if (!isKey(key) || (await store.records.get(records, key)) !== null) continue;
    const value = encodeJson({ line: at.line, messageId, source });
    writes.push({ records, key, value });
    if (writes.length >= BATCH) await flush();
  }
  await flush();
}

/** For ids that are no messages: the message that what follows such a piece of the file is attached to. */
export async function findPlaces(
  store: Store,
  sessionId: string,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const places = new Map<string, string>();
  for (const id of ids) {
    const record = isKey(id) ? await store.records.get(scopeOf(sessionId), id) : null;
    if (record === null) continue;
    const piece: unknown = decodeJson(record.value);
    if (isJsonObject(piece) && typeof piece.messageId === "string") places.set(id, piece.messageId);
  }
  return places;
}

/** How many pieces there are of each kind that a report counts. */
export function countKept(pieces: readonly KeptPiece[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { kind } of pieces) if (kind !== null) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return Object.fromEntries(counts);
}

function scopeOf(sessionId: string): RecordScope {
  return { sessionId, label: IMPORTED };
}

function isKey(key: string): boolean {
  return key !== "" && utf8Length(key) <= NAME_LIMITS.key && key.isWellFormed() && !key.includes("\0");
}

/** The label of the record that says how much of a file's usage is counted. */
const COUNTED = { label: "imported-usage", key: "total" };
const NOTHING: Usage = { inputTokens: 0, outputTokens: 0, cost: 0 };

/**
 * The usage that an import counts with the messages: the total of a file that tells no more, where the session counts nothing
 * yet. Undefined for nothing.
 */
export function totalAlone({ usage, usageRows }: ParsedSession): Usage | undefined {
  return usage === undefined || usageRows !== undefined || isNothing(usage) ? undefined : usage;
}

/** Counts what a file tells by day and model: its rows, and of the total what was not counted by an import before. */
export async function addUsage(store: Store, sessionId: string, { usage, usageRows }: ParsedSession): Promise<void> {
  if (usage === undefined || usageRows === undefined) return;
  while (!(await countMore(store, sessionId, usage, usageRows)));
}

// False where another import was faster.
async function countMore(store: Store, sessionId: string, usage: Usage, rows: readonly UsageRow[]): Promise<boolean> {
  const known = await readRecord(store, sessionId);
  // Without a record, a session that counts already was imported by an earlier version, or has gone on by itself.
  const before = known?.usage ?? ((await countsNothing(store, sessionId)) ? NOTHING : usage);
  const more = {
    inputTokens: usage.inputTokens - before.inputTokens,
    outputTokens: usage.outputTokens - before.outputTokens,
    cost: usage.cost - before.cost,
  };
  if (known !== null && more.inputTokens <= 0 && more.outputTokens <= 0) return true;
  const records = { sessionId, label: COUNTED.label };
  const options = { expectedVersion: known?.version ?? 0 };
  try {
    await store.writeTogether([
      { records, key: COUNTED.key, value: encodeJson(usage), options },
      { registered: sessionId, imported: more, rows },
    ]);
    return true;
  } catch (error) {
    if (!StemmaError.isInstance(error, "RECORD_CONFLICT")) throw error;
    return false;
  }
}

async function countsNothing(store: Store, sessionId: string): Promise<boolean> {
  const info = await store.sessions.get(sessionId);
  if (info === null) return true;
  const { input_tokens: inputTokens, output_tokens: outputTokens, estimated_cost: cost } = info;
  return isNothing({ inputTokens, outputTokens, cost });
}

function isNothing({ inputTokens, outputTokens, cost }: Usage): boolean {
  return inputTokens === 0 && outputTokens === 0 && cost === 0;
}

async function readRecord(store: Store, sessionId: string): Promise<{ usage: Usage; version: number } | null> {
  const record = await store.records.get({ sessionId, label: COUNTED.label }, COUNTED.key);
  return record === null ? null : { usage: decodeJson(record.value) as Usage, version: record.version };
}
