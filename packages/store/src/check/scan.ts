import type { SessionMessage } from "@stemma/model";
import {
  decodeMessage,
  documentOf,
  estimateMessageTokens,
  isJsonObject,
  isoTime,
  PendingMessage,
  searchableText,
  storableText,
} from "@stemma/model";
import type { Dialect } from "../engine/dialect.js";
import type { SessionRows } from "../engine/operation.js";
import { all, type Operation, pause } from "../engine/operation.js";
import { readContents, readMedia } from "../operations/messages/content.js";
import { rowAfter } from "../operations/messages/damage.js";
import { ceilingOf, floorOf } from "../operations/registry/session-head.js";
import { isText } from "./findings.js";

/** A row of `assistant_messages`, as it stands there. What is damaged may be of any type. */
export interface MessageRow {
  readonly n: number;
  readonly id: string;
  readonly session_id: string;
  readonly parent_id: string | null;
  readonly role: string;
  readonly created_at: string;
  readonly branch: number;
  readonly tokens: number;
  readonly total: number | null;
  readonly dated_at: string | null;
  readonly content: string;
  readonly text_content?: string;
}

export interface ScannedMessage {
  readonly row: MessageRow;
  /** The meaning of the content; null for one that cannot be read. */
  readonly said: Said | null;
}

/** The values that the other columns, the references and the index must hold. */
export interface Said {
  readonly message: SessionMessage;
  readonly tokens: number;
  readonly datedAt: string | null;
  readonly text: string;
  readonly document: string;
  /** Keys of what stands outside the row. */
  readonly keys: readonly string[];
}

const PAGE = 64;
const COLUMNS = "n, id, session_id, parent_id, role, created_at, branch, tokens, total, dated_at, content";

/** Reads the messages of a session in order, a page at a time. */
export function* scanMessages(
  sql: Dialect,
  session: SessionRows,
  visit: (page: readonly ScannedMessage[]) => Operation<void>,
): Operation<void> {
  const columns = sql.layout !== "local" ? `${COLUMNS}, text_content` : COLUMNS;
  for (let from = floorOf(session.sessionNumber); ; ) {
    const rows = yield* all<MessageRow>(
      ...session.where(
        `SELECT ${columns} FROM assistant_messages`,
        `n BETWEEN ? AND ? ORDER BY n LIMIT ${PAGE}`,
        from,
        ceilingOf(session.sessionNumber),
      ),
    );
    const contents = rows.map(({ content }) => textOf(content));
    const messages = yield* readContents(session, [...contents], null, () => {});
    const page: ScannedMessage[] = [];
    for (const [index, row] of rows.entries()) {
      const message = messages[index] ?? null;
      const keys = message === null ? [] : yield* keysOf(session, contents[index] as string);
      page.push({ row, said: message === null ? null : sayingOf(message, keys) });
    }
    yield* visit(page);
    const last = rows.at(-1);
    if (last === undefined) return;
    from = rowAfter(last.n, from);
    yield* pause();
  }
}

/** A stored text that damage may have made a value of another type. */
export function textOf(value: unknown): string {
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : String(value);
}

// A content that was moved out whole names others inside.
function* keysOf(session: SessionRows, content: string): Operation<string[]> {
  const decoded = decodeMessage(content);
  if (!(decoded instanceof PendingMessage)) return [];
  const keys = decoded.keys;
  const [moved] = keys;
  if (moved === undefined || !moved.startsWith("row:")) return keys;
  const inner = (yield* readMedia(session, keys)).get(moved);
  return inner === undefined ? keys : [...keys, ...(yield* keysOf(session, inner))];
}

function sayingOf(message: SessionMessage, keys: readonly string[]): Said | null {
  try {
    const isMessage = message.parts.every((part) => isJsonObject(part) && isText(part.type));
    if (!isMessage) return null;
    return {
      message,
      tokens: estimateMessageTokens(message),
      datedAt: isoTime(message.createdAt),
      text: storableText(searchableText(message)),
      document: documentOf(message),
      keys,
    };
  } catch {
    // Parts that no one would have written: what reads them here would fail elsewhere too.
    return null;
  }
}
