import { StemmaError } from "@stemma/model";
import type { KeptWrite, MessageWrite } from "@stemma/store";
import { storeNeeded } from "./host.js";
import type { MessageWrites, TogetherResult } from "./message-writes.js";
import type { TurnRecords } from "./turn/log.js";

/**
 * Writes that a store would make together, for a session of a user's own provider: one after the other, while the records that
 * are checked are as they should be. Errors: `RECORD_CONFLICT`, `STORE_UNSUPPORTED` for what is no write of messages or records.
 */
export async function writeOneByOne(
  messages: MessageWrites,
  records: TurnRecords,
  writes: readonly KeptWrite[],
): Promise<TogetherResult> {
  const ids: (readonly string[])[] = [];
  for (const write of writes) ids.push(await writeOne(messages, records, write));
  return { ids, settled: Promise.resolve() };
}

async function writeOne(messages: MessageWrites, records: TurnRecords, write: KeptWrite): Promise<readonly string[]> {
  if ("session" in write) return writeMessages(messages, write);
  if (!("records" in write)) throw storeNeeded("This");
  if ("atVersion" in write) await checkRecord(records, write);
  else if (write.value === null) await records.delete(write.records, write.key, write.options);
  else await records.set(write.records, write.key, write.value, write.options);
  return [];
}

async function writeMessages(messages: MessageWrites, write: MessageWrite): Promise<readonly string[]> {
  if ("clear" in write) await messages.clear();
  else if ("update" in write) {
    if (write.expected !== undefined) throw storeNeeded("This");
    await messages.update(write.update);
  } else if ("append" in write) return messages.appendAll(write.append, write.parent, write);
  else if ("appendSibling" in write) {
    return (await messages.edit(write.of, write.appendSibling)).inserted ? [write.appendSibling.id] : [];
  } else if ("upsert" in write) return (await messages.upsert(write.upsert, write.parent)) ? [write.upsert.id] : [];
  else if ("selectBranch" in write) return [(await messages.selectBranch(write.selectBranch)).id];
  else if (write.activeLeaf === null) throw storeNeeded("This");
  else await messages.setActiveLeaf(write.activeLeaf);
  return [];
}

async function checkRecord(records: TurnRecords, check: Extract<KeptWrite, { atVersion: number }>): Promise<void> {
  const { key, atVersion } = check;
  const version = (await records.get(check.records, key))?.version ?? 0;
  if (version === atVersion) return;
  throw new StemmaError("RECORD_CONFLICT", { key, version }, `Record "${key}" is at version ${version}.`);
}
