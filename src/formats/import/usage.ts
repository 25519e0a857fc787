import { decodeJson, encodeJson } from "../../model/json-bytes.js";
import type { Store } from "../../storage/contract.js";
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
  return (await readCounted(store, sessionId)) === null ? usage : undefined;
}

/** Counts what a file tells by day and model: its rows, and of the total what was not counted by an import before. */
export async function addUsage(store: Store, sessionId: string, { usage, usageRows }: ParsedSession): Promise<void> {
  if (usage === undefined || usageRows === undefined) return;
  const counted = await readCounted(store, sessionId);
  // A first import counted the total with the messages.
  const before = counted ?? usage;
  const more = {
    inputTokens: usage.inputTokens - before.inputTokens,
    outputTokens: usage.outputTokens - before.outputTokens,
    cost: usage.cost - before.cost,
  };
  if (counted !== null && more.inputTokens <= 0 && more.outputTokens <= 0) return;
  const value = encodeJson(usage);
  await store.records.set({ sessionId, label: COUNTED.label }, COUNTED.key, value);
  await store.sessions.importUsage(sessionId, more, usageRows);
}

async function readCounted(store: Store, sessionId: string): Promise<Usage | null> {
  const record = await store.records.get({ sessionId, label: COUNTED.label }, COUNTED.key);
  return record === null ? null : (decodeJson(record.value) as Usage);
}
