import type { SessionManager } from "stemma";
import { factsIn, firstVersionWith } from "../shared/facts";

// The block belongs to the user, so any session of the user's writes it; this one holds nothing else.
const PANEL = "memory-panel";
const LABEL = "memory";

/** Takes a fact out of the memory. */
export async function forgetFact(chats: SessionManager, fact: string): Promise<void> {
  const session = chats.getSession(PANEL);
  const said = firstVersionWith(fact, await session.getBlockHistory(LABEL));
  const chat = said === null || said.sessionId === null ? null : await chats.get(said.sessionId);
  // Its chat is learned from first: later that would bring the fact back.
  if (chat !== null && chat.id !== PANEL) await chats.getSession(chat.id).close();
  const block = await session.readContextBlock(LABEL);
  const kept = (block?.content ?? "").split("\n").filter((line) => factsIn(line)[0] !== fact);
  await session.replaceContextBlock(LABEL, kept.join("\n"));
}

/** Writes an earlier version of the memory anew. */
export async function restoreMemory(chats: SessionManager, version: number): Promise<void> {
  await chats.getSession(PANEL).restoreBlock(LABEL, version);
}
