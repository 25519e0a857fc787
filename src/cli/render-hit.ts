import { parseQuery } from "../model/query.js";
import { excerpt } from "../model/snippet.js";
import type { Style } from "./style.js";
import { localTime, oneLine, printable } from "./text.js";

const LENGTH = 240;

/** What stands around a word that matches, until it is drawn: no text that went through `printable` holds them. */
const MARKS = ["\u0001", "\u0002"] as const;
const MARKED = new RegExp(`${MARKS[0]}(.*?)${MARKS[1]}`, "gsu");

interface Hit {
  readonly sessionId: string;
  readonly id: string;
  readonly role: string;
  readonly createdAt?: string | undefined;
  readonly content: string;
}

/** A found message as a terminal shows it: who, when and where, then a piece of it in which the words that match are set off. */
export function renderHit({ sessionId, id, role, createdAt, content }: Hit, query: string, style: Style): string {
  const time = createdAt === undefined ? [] : [localTime(createdAt)];
  const head = [role, ...time, `session ${sessionId}`, `message ${id}`].map((piece) => oneLine(piece, 200)).join(" · ");
  const text = printable(content).replace(/\s+/gu, " ").trim();
  const found = excerpt(text, parseQuery(query), LENGTH, MARKS).replace(MARKED, (_, word: string) => style.match(word));
  return `${style.dim(`── ${head}`)}\n${found}`;
}
