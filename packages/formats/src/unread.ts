import type { SessionMessagePart } from "@stemma/model";
import { forEachYielding, isJsonObject, quote, readToolPart } from "@stemma/model";
import type { ParsedSession, Skipped, Unread } from "./stemma/session-file.js";

/** Types of the parts in which readers keep content as it stands in the file. */
const RAW_TYPES = ["data-openai", "data-claude", "data-codex", "data-chatgpt", "data-pi", "data-import"];

/** A part that holds content as it stands in the file: no model is shown it, and no search finds it. */
export function rawPart(data: unknown): SessionMessagePart {
  return { type: "data-import", data };
}

/**
 * Sees to it that no reader passes over anything in silence: the report of a session names each kind of content that was
 * not understood, with the place of the first. A session of which nothing was understood is marked `isUnread`.
 */
export class UnreadCheck {
  /** Sessions of which further pieces follow: whether anything of them was understood. */
  readonly #open = new Map<string, boolean>();

  /** The session, or the piece of one, with a report of what was not understood. */
  async check(session: ParsedSession): Promise<ParsedSession> {
    const { id, messages, skipped, more = false } = session;
    const unread = [...(session.unread ?? [])];
    let isRead = this.#open.get(id) === true;
    await forEachYielding(messages, ({ message, at }) => {
      for (const part of message.parts) {
        if (isUnread(part)) unread.push({ what: nameOf(part), at });
        else isRead = true;
      }
    });
    if (more) this.#open.set(id, isRead);
    else this.#open.delete(id);
    return { ...session, skipped: [...skipped, ...reportOf(unread)], isUnread: !more && !isRead && unread.length > 0 };
  }
}

/** True for a part that is kept as it stood in the file, and for one that is none of the AI SDK's. */
function isUnread(part: SessionMessagePart): boolean {
  switch (part.type) {
    case "text":
    case "reasoning":
      return typeof part.text !== "string";
    case "file":
      return typeof part.url !== "string";
    case "step-start":
    case "source-url":
    case "source-document":
      return false;
    default:
      return part.type.startsWith("data-") ? RAW_TYPES.includes(part.type) : readToolPart(part)?.toolName == null;
  }
}

function nameOf(part: SessionMessagePart): string {
  if (!RAW_TYPES.includes(part.type)) return `a part of the type ${quote(part.type)}`;
  const { data } = part;
  if (!isJsonObject(data)) return "content that is no object";
  const type = [data.type, data.content_type, data.role].find((name) => typeof name === "string");
  return typeof type === "string" ? `content of the type ${quote(type)}` : "content without a type";
}

function reportOf(unread: readonly Unread[]): Skipped[] {
  const kinds = new Map<string, Unread & { count: number }>();
  for (const { what, at } of unread) {
    const known = kinds.get(what);
    if (known === undefined) kinds.set(what, { what, at, count: 1 });
    else known.count += 1;
  }
  return [...kinds.values()].map(({ what, at, count }) => {
    const more = count === 1 ? "" : `, ${count} times from here on`;
    return { ...at, why: `${what}${more}: it is kept as it stands, and shown to no model` };
  });
}
