import type { SessionMessage } from "../model/message.js";
import type { SessionInfo, Store, StoredCompaction } from "../storage/contract.js";

/** A session as the store has it, whole: what an export that must put things into another order works on. */
export interface StoredSession {
  info: SessionInfo;
  /** Every message of every branch in the order they were written: parents before their children. */
  messages: {
    message: SessionMessage;
    parentId: string | null;
    /** ISO time: the message's own, else when it was stored. */
    createdAt?: string;
  }[];
  /** Oldest first. */
  compactions: StoredCompaction[];
  activeLeafId: string | null;
}

/** Reads a whole session into memory. */
export async function readStoredSession(store: Store, info: SessionInfo): Promise<StoredSession> {
  const session = store.session(info.id);
  const messages: StoredSession["messages"] = [];
  for await (const stored of session.messages()) messages.push(stored);
  const compactions = await session.compactions();
  const leaf = await session.leaf();
  return { info, messages, compactions, activeLeafId: leaf?.id ?? null };
}

/** The messages from the root to `leafId`, or to the active leaf. */
export function pathOf({ messages, activeLeafId }: StoredSession, leafId = activeLeafId): SessionMessage[] {
  const byId = new Map(messages.map((node) => [node.message.id, node]));
  const path: SessionMessage[] = [];
  for (let node = byId.get(leafId ?? ""); node !== undefined; node = byId.get(node.parentId ?? ""))
    path.push(node.message);
  return path.reverse();
}
