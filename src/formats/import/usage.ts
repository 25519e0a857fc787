import { StemmaError } from "../../errors.js";
import { decodeJson, encodeJson } from "../../model/json-bytes.js";
import type { Store, UsageRow } from "../../storage/contract.js";
import type { ParsedSession, Usage } from "../session-file.js";

/** The label of the record that says how much of a file's usage is counted. */
const COUNTED = { label: "imported-usage", key: "total" };
const NOTHING: Usage = { inputTokens: 0, outputTokens: 0, cost: 0 };

/** What an import counts with the messages: the total of a file that tells no more, where the session counts nothing yet. Undefined for nothing. */
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
