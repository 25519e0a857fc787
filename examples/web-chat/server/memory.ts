import type { SessionManager } from "stemma";
import type { Memory } from "../shared/api";
import { factsIn } from "./facts";

// The block belongs to the user, so any session of the user's reads and writes it; this one holds nothing else.
const PANEL = "memory-panel";
const LABEL = "memory";

/** What is remembered of the user. */
export async function readMemory(chats: SessionManager): Promise<Memory> {
  const block = await chats.getSession(PANEL).readContextBlock(LABEL);
  const facts = factsIn(block?.content ?? "");
  return { facts: facts.map((text) => ({ text, origin: null })), versions: [] };
}

/** Takes a fact out of the memory. */
export async function forgetFact(chats: SessionManager, fact: string): Promise<void> {
  const session = chats.getSession(PANEL);
  const block = await session.readContextBlock(LABEL);
  const kept = (block?.content ?? "").split("\n").filter((line) => factsIn(line)[0] !== fact);
  await session.replaceContextBlock(LABEL, kept.join("\n"));
}
