import { StemmaError } from "../../errors.js";
import { decodeJson, encodeJson } from "../../model/json-bytes.js";
import type { Store, UsageRow } from "../../storage/contract.js";
import type { ParsedSession, Usage } from "../session-file.js";

/** The label of the record that says how much of a file's usage is counted. */
const COUNTED = { label: "imported-usage", key: "total" };

/** What an import counts with the messages: all that the file tells, where the session counts nothing yet. Undefined for nothing. */
export async function firstUsage(
  store: Store,
  sessionId: string,
  usage: Usage | undefined,
): Promise<Usage | undefined> {
  if (usage === undefined || (usage.inputTokens === 0 && usage.outputTokens === 0 && usage.cost === 0))
    return undefined;
  return (await readRecord(store, sessionId)) === null ? usage : undefined;
}

/** Counts what a file tells by day and model: its rows, and of the total what was not counted by an import before. */
export async function addUsage(store: Store, sessionId: string, { usage, usageRows }: ParsedSession): Promise<void> {
  if (usage === undefined || usageRows === undefined) return;
  while (!(await countMore(store, sessionId, usage, usageRows)));
}

// False where another import was faster.
async function countMore(store: Store, sessionId: string, usage: Usage, rows: readonly UsageRow[]): Promise<boolean> {
  const known = await readRecord(store, sessionId);
  const counted = known?.usage ?? null;
  // A first import counted the total with the messages.
  const before = counted ?? usage;
  const more = {
    inputTokens: usage.inputTokens - before.inputTokens,
    outputTokens: usage.outputTokens - before.outputTokens,
    cost: usage.cost - before.cost,
  };
  if (counted !== null && more.inputTokens <= 0 && more.outputTokens <= 0) return true;
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

async function readRecord(store: Store, sessionId: string): Promise<{ usage: Usage; version: number } | null> {
  const record = await store.records.get({ sessionId, label: COUNTED.label }, COUNTED.key);
  return record === null ? null : { usage: decodeJson(record.value) as Usage, version: record.version };
}
