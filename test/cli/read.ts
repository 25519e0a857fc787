import { sessionsOfItems } from "../../packages/formats/src/formats.js";
import { readItems } from "../../packages/formats/src/json-items.js";
import type { Item, ParsedSession } from "../../packages/formats/src/stemma/session-file.js";
import type { StoredSession } from "../../packages/formats/src/stemma/store-lines.js";

/** A text as a file gives it, in pieces of a few characters. */
export async function* inPieces(text: string, size = 7): AsyncGenerator<string> {
  for (let start = 0; start < text.length; start += size) yield text.slice(start, start + size);
}

/** Everything that an iteration gives. */
export async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const value of values) collected.push(value);
  return collected;
}

export async function itemsOf(text: string, size?: number): Promise<Item[]> {
  return collect(readItems(inPieces(text, size)));
}

export async function sessionsOf(
  text: string,
  options: { stem?: string; format?: string } = {},
): Promise<ParsedSession[]> {
  const { stem = "chat", format } = options;
  return collect(sessionsOfItems(readItems(inPieces(text)), { stem }, format));
}

/** The only session of a text. */
export async function sessionOf(text: string, stem?: string): Promise<ParsedSession> {
  const sessions = await sessionsOf(text, stem === undefined ? {} : { stem });
  const [session] = sessions;
  if (session === undefined || sessions.length > 1) throw new RangeError(`The text holds ${sessions.length} sessions.`);
  return session;
}

export function jsonl(values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}

/** A parsed session as if it had been stored and read back. */
export function asStored(session: ParsedSession): StoredSession {
  const time = "2026-01-01T00:00:00.000Z";
  return {
    info: {
      id: session.id,
      name: session.name,
      parent_session_id: null,
      model: null,
      source: session.source ?? null,
      input_tokens: 0,
      output_tokens: 0,
      estimated_cost: 0,
      end_reason: null,
      user_id: null,
      metadata: {},
      created_at: time,
      updated_at: time,
    },
    messages: session.messages,
    compactions: session.compactions.map((compaction) => ({ ...compaction, createdAt: compaction.createdAt ?? time })),
    activeLeafId: session.activeLeafId ?? session.messages.at(-1)?.message.id ?? null,
  };
}
