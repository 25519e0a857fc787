import type { SessionMessage } from "../../../model/message.js";
import type { SkillState } from "../../../model/skills.js";
import type { ImportedTree, StoredCompaction, UsageRow } from "../../../storage/contract.js";
import { fromSDKMessages } from "../../messages/sdk-message.js";
import type { SDKMessage, SessionState } from "../../types.js";
import type { MemorySnapshot } from "./memory-snapshot.js";

/** What a session has beyond the documented state. Only what there is, is there. */
export interface Snapshot extends MemorySnapshot {
  name?: string;
  model?: string;
  source?: string;
  userId?: string;
  /** Fields of the registry entry that do not stand in the metadata of the state: one named as ours. */
  fields?: Record<string, unknown>;
  endReason?: string;
  /** Every message with its parent, in the order they were written. Absent: the messages of the state, one after the other. */
  tree?: [id: string, parentId: string | null][];
  /** The messages that are not on the active branch. */
  offBranch?: SDKMessage[];
  /** Null where messages are stored and none is the active leaf. */
  leaf?: string | null;
  /** When each message was stored, in the order they were written. Milliseconds since 1970. */
  times?: number[];
  /** Ids of the messages whose `createdAt` was given as a `Date`, which JSON writes as a text. */
  dated?: string[];
  compactions?: StoredCompaction[];
  skills?: SkillState;
  /** What was used, by day and model. */
  usage?: UsageRow[];
}

/** The tree of a state, with what a snapshot tells of it. */
export function treeIn({ messages = [], updatedAt }: SessionState, ours: Snapshot): ImportedTree {
  const dated = new Set(ours.dated);
  const all = fromSDKMessages([...messages]).concat(fromSDKMessages(ours.offBranch ?? []));
  const stored = new Map(all.map((message) => [message.id, dated.has(message.id) ? withDate(message) : message]));
  if (stored.size < all.length) throw new TypeError("Two messages have the same id.");
  const order =
    ours.tree ?? [...stored.keys()].map((id, index, ids): [string, string | null] => [id, ids[index - 1] ?? null]);
  return {
    messages: order.flatMap(([id, parentId], index) => {
      const message = stored.get(id);
      // A message's own time may lie in the future; it was stored before the session last changed.
      const storedAt = isoTime(Math.min(ours.times?.[index] ?? updatedAt, updatedAt));
      return message === undefined ? [] : [{ message, parentId, storedAt }];
    }),
    compactions: ours.compactions ?? [],
    activeLeafId: ours.leaf === undefined ? order.at(-1)?.[0] : ours.leaf,
  };
}

function withDate(message: SessionMessage): SessionMessage {
  return message.createdAt === undefined ? message : { ...message, createdAt: new Date(message.createdAt) };
}

export const isoTime = (milliseconds: number) => new Date(milliseconds).toISOString();
