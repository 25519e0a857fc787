import { StemmaError, searchableText } from "@stemma/model";
import type { Session, SessionManager } from "@stemma/session";
import type { Author, StoredVersion } from "@stemma/store";
import { namesOf } from "./chats.js";

/** The answer to `GET /:id/memory`. */
export interface ChatMemory {
  /** The blocks that the model may write, in their order. Others, as instructions of yours, are not told. */
  readonly blocks: ChatBlock[];
}

/** A block of what is remembered. */
export interface ChatBlock {
  readonly label: string;
  readonly description: string | null;
  /** As it is stored now; of a block that holds entries what the prompt shows of them. */
  readonly content: string;
  /** The newest first, the present one among them. Empty for a block that holds entries, or whose provider keeps no versions. */
  readonly versions: ChatBlockVersion[];
}

/** A block as it was after one write. */
export interface ChatBlockVersion {
  readonly version: number;
  readonly content: string;
  /** ISO time. */
  readonly writtenAt: string;
  /** Null for what was written before versions were kept. */
  readonly author: Author | null;
  /** The user's message that it comes from; null where there is none, or it is gone, or another user's. */
  readonly message: {
    readonly chatId: string;
    readonly chatName: string;
    readonly messageId: string;
    readonly text: string;
  } | null;
}

/** Reads the memory of a chat; for one that is not there yet, or is another user's, what a new one will begin with. */
export async function readMemory(manager: SessionManager, id: string): Promise<ChatMemory> {
  const isRegistered = (await manager.get(id)) !== null;
  const session = manager.getSession(isRegistered ? id : crypto.randomUUID());
  await session.tools();
  const labels = session.getContextBlocks().flatMap(({ label, writable, isSkill }) => {
    return writable && !isSkill ? [label] : [];
  });
  const blocks: ChatBlock[] = [];
  for (const label of labels) {
    const [block, versions] = await Promise.all([session.readContextBlock(label), versionsOf(session, label)]);
    if (block === null) continue;
    const { description = null, content } = block;
    blocks.push({ label, description, content, versions: await withMessages(manager, versions) });
  }
  return { blocks };
}

async function versionsOf(session: Session, label: string): Promise<StoredVersion[]> {
  try {
    return await session.getBlockHistory(label);
  } catch (error) {
    if (StemmaError.isInstance(error, "INVALID_ARGUMENT")) return [];
    throw error;
  }
}

// A block of a key is written in chats of others too.
async function withMessages(manager: SessionManager, versions: readonly StoredVersion[]): Promise<ChatBlockVersion[]> {
  const names = await namesOf(
    manager,
    versions.flatMap(({ sessionId }) => sessionId ?? []),
  );
  const texts = new Map<string, Promise<string | null>>();
  const textOf = (chatId: string, messageId: string) => {
    const key = JSON.stringify([chatId, messageId]);
    const known = texts.get(key) ?? textOfMessage(manager.getSession(chatId), messageId);
    texts.set(key, known);
    return known;
  };
  return Promise.all(
    versions.map(async ({ version, content, writtenAt, author, sessionId: chatId, messageIds }) => {
      const messageId = messageIds.at(-1);
      const chatName = chatId === null ? undefined : names.get(chatId);
      const isTold = chatId !== null && chatName !== undefined && messageId !== undefined;
      const text = isTold ? await textOf(chatId, messageId) : null;
      const message = isTold && text !== null ? { chatId, chatName, messageId, text } : null;
      return { version, content: content ?? "", writtenAt, author, message };
    }),
  );
}

async function textOfMessage(session: Session, messageId: string): Promise<string | null> {
  try {
    const message = await session.getMessage(messageId);
    return message && searchableText(message);
  } catch (error) {
    if (StemmaError.isInstance(error, "CORRUPT_MESSAGE")) return null;
    throw error;
  }
}
