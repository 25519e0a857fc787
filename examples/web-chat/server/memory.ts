import type { SessionManager, StoredVersion } from "stemma";
import type { Fact, Memory, Origin } from "../shared/api";
import { factsIn } from "./facts";

// The block belongs to the user, so any session of the user's reads and writes it; this one holds nothing else.
const PANEL = "memory-panel";
const LABEL = "memory";

/** What is remembered of the user, where it comes from, and what was remembered before. */
export async function readMemory(chats: SessionManager): Promise<Memory> {
  const session = chats.getSession(PANEL);
  const [block, versions] = await Promise.all([session.readContextBlock(LABEL), session.getBlockHistory(LABEL)]);
  const facts = await Promise.all(
    factsIn(block?.content ?? "").map(async (text): Promise<Fact> => {
      const version = firstVersionWith(text, versions);
      return { text, origin: version === null ? null : await originOf(chats, version) };
    }),
  );
  return {
    facts,
    versions: versions.map(({ version, writtenAt, author, content }) => {
      return { version, writtenAt, author, facts: factsIn(content ?? "") };
    }),
  };
}

/** Takes a fact out of the memory. */
export async function forgetFact(chats: SessionManager, fact: string): Promise<void> {
  const { facts } = await readMemory(chats);
  const said = facts.find(({ text }) => text === fact)?.origin?.message;
  // Its chat is learned from first: later that would bring the fact back.
  if (said) await chats.getSession(said.chatId).close();
  const session = chats.getSession(PANEL);
  const block = await session.readContextBlock(LABEL);
  const kept = (block?.content ?? "").split("\n").filter((line) => factsIn(line)[0] !== fact);
  await session.replaceContextBlock(LABEL, kept.join("\n"));
}

/** Writes an earlier version of the memory anew. */
export async function restoreMemory(chats: SessionManager, version: number): Promise<void> {
  await chats.getSession(PANEL).restoreBlock(LABEL, version);
}

/** The write that brought a fact, of versions with the newest first; null when it is older than those that are kept. */
function firstVersionWith(fact: string, versions: readonly StoredVersion[]): StoredVersion | null {
  const without = versions.findIndex(({ content }) => !factsIn(content ?? "").includes(fact));
  const first = without === -1 ? versions.at(-1) : versions[without - 1];
  if (first === undefined || (without === -1 && first.version > 1)) return null;
  return first;
}

async function originOf(chats: SessionManager, version: StoredVersion): Promise<Origin | null> {
  const { author, writtenAt, sessionId, messageIds } = version;
  if (author === null) return null;
  const messageId = messageIds.at(-1);
  const chat = sessionId === null ? null : await chats.get(sessionId);
  const message =
    chat === null || messageId === undefined ? null : await chats.getSession(chat.id).getMessage(messageId);
  if (chat === null || message === null) return { author, writtenAt, message: null };
  const text = message.parts.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join(" ");
  return { author, writtenAt, message: { chatId: chat.id, chatName: chat.name, messageId: message.id, text } };
}
