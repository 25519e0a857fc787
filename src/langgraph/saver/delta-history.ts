import type { CheckpointPendingWrite, DeltaChannelHistory, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { RecordStore } from "../../storage/contract.js";
import type { CheckpointReader } from "./checkpoint-reader.js";
import type { Place } from "./keys.js";
import { readWrites } from "./pending-writes.js";

/**
 * Of each channel what was written to it before a checkpoint, oldest first, back to the nearest checkpoint that has its
 * value, and that value.
 */
export async function deltaHistory(
  records: RecordStore,
  reader: CheckpointReader,
  serde: SerializerProtocol,
  place: Place,
  checkpointId: string | null,
  channels: readonly string[],
): Promise<Record<string, DeltaChannelHistory>> {
  const found = new Map<string, { steps: CheckpointPendingWrite[][]; seed?: unknown }>();
  for (const name of channels) found.set(name, { steps: [] });
  const open = new Set(channels);
  let parentId = (await reader.find(place, checkpointId))?.parentId ?? null;
  while (parentId !== null && open.size > 0) {
    const [stored, writes] = await Promise.all([
      reader.find(place, parentId),
      readWrites(records, serde, place, parentId, open),
    ]);
    if (stored === null) break;
    for (const name of open) found.get(name)?.steps.push(writes.filter(([, channel]) => channel === name));
    const refs = stored.channels.filter(([name]) => open.has(name));
    for (const [name, seed] of (await reader.values(place, { channels: refs, frames: stored.frames })) ?? []) {
      Object.assign(found.get(name) as object, { seed });
      open.delete(name);
    }
    parentId = stored.parentId;
  }
  const histories = [...found].map(([name, { steps, ...rest }]) => [name, { writes: steps.reverse().flat(), ...rest }]);
  return Object.fromEntries(histories);
}
