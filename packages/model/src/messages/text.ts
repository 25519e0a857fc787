// The texts of a message: what of it is read, searched, indexed and embedded.
import { isInlineMedia } from "./media.js";
import type { SessionMessage } from "./message.js";
import { FIRST_TIME, storableText } from "./storable-text.js";
import { readToolPart } from "./tool-parts.js";

/** The text of a message: its text parts, one below the other. Never tool payloads, reasoning or files. */
export function searchableText(message: SessionMessage): string {
  let text = "";
  for (const part of message.parts) {
    // Rows that another program wrote may hold anything.
    if (part?.type !== "text" || typeof part.text !== "string" || part.text === "") continue;
    text = text === "" ? part.text : `${text}\n${part.text}`;
  }
  return text;
}

/** The text that a search looks at: that of `searchableText`, and with `tools` below it what the tool calls were given and gave. */
export function searchedText(message: SessionMessage, tools: boolean): string {
  const text = searchableText(message);
  const added = tools ? toolText(message) : "";
  return text === "" || added === "" ? text + added : `${text}\n${added}`;
}

/** The text that is indexed of a message: the sender's name and date, then what is searched. "" for a message without that. */
export function documentOf(message: SessionMessage, tools: boolean): string {
  const text = searchedText(message, tools);
  const [name, createdAt] = [senderName(message), isoTime(message.createdAt)];
  if (text === "" || (name === "" && createdAt === null)) return text;
  return `${name} ${createdAt === null ? "" : dateWords(createdAt)}\n${text}`;
}

/** The sender's name, when the host put one into `metadata.name`; "" otherwise. */
export function senderName(message: SessionMessage): string {
  const { metadata } = message;
  if (typeof metadata !== "object" || metadata === null) return "";
  const { name } = metadata as { name?: unknown };
  return typeof name === "string" ? name : "";
}

/** The text that is embedded of a message: its sender's name, or its role without one, then the text. "" for a message without text. */
export function embeddedText(message: SessionMessage): string {
  const text = searchableText(message);
  return text === "" ? "" : `${senderName(message) || message.role}: ${text}`;
}

/** A message's own time as ISO text in UTC; null when it has none. */
export function isoTime(createdAt: SessionMessage["createdAt"]): string | null {
  if (createdAt === undefined || createdAt === null) return null;
  const time = new Date(createdAt);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/** True for a time in the form in which a store dates what it holds. Years of more digits do not compare as texts. */
export const isStoredTime = (text: string) => isoTime(text) === text && text >= FIRST_TIME;

const MONTHS = "January February March April May June July August September October November December".split(" ");

/** The date of an ISO time, as people write it and as machines do. */
export function dateWords(iso: string): string {
  const [year, month, day] = iso.slice(0, 10).split("-");
  return `${Number(day)} ${MONTHS[Number(month) - 1] ?? ""} ${year} ${iso.slice(0, 10)}`;
}

/** So many characters of each input, output and error are searched: some 700 words, of which the first tell what it is about. */
const MOST_OF_EACH = 4_000;
/** So many of all calls of a message. */
const MOST = 32_000;
/** A payload is looked at so many levels deep. */
const DEEPEST = 50;
/** Bytes as text, also where no field tells that they are: a word of that length is of no language. */
const ENCODED = /data:[\w.+-]+\/[^\s,]*,[^\s"'<>)]*|[\w+/-]{200,}={0,2}/g;

function toolText(message: SessionMessage): string {
  let text = "";
  for (const part of message.parts) {
    const tool = text.length < MOST ? readToolPart(part) : null;
    if (tool === null) continue;
    for (const payload of [tool.input, tool.output, tool.errorText]) text += payloadText(payload);
  }
  return storableText(cut(text, 0, MOST).trimEnd());
}

/** The beginning of a JSON value: its texts and numbers, each on a line of its own, behind the name of the field that holds it. */
function payloadText(payload: unknown): string {
  let text = "";
  const add = (value: unknown, holder: unknown, key: string, depth: number): void => {
    if (text.length >= MOST_OF_EACH) return;
    const name = key === "" ? "" : `${key}: `;
    if (typeof value === "object" && value !== null && depth < DEEPEST) {
      text += name;
      if (Array.isArray(value)) for (const item of value) add(item, value, "", depth + 1);
      else for (const [each, item] of Object.entries(value)) add(item, value, each, depth + 1);
    } else if (typeof value === "number" || (typeof value === "string" && !isInlineMedia(holder, key, value))) {
      text += `${name}${cut(`${value}`, 0, MOST_OF_EACH).replaceAll(ENCODED, "…")}\n`;
    }
  };
  add(payload, null, "", 0);
  return text === "" ? "" : `${cut(text, 0, MOST_OF_EACH).trimEnd()}\n`;
}

/** `text.slice` with its ends moved so that no character is cut in two: what one piece leaves, the next one has. */
export function cut(text: string, start: number, end: number): string {
  return text.slice(boundary(text, start), boundary(text, end));
}

/** The index, or the one before it in the middle of a surrogate pair. */
export function boundary(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff ? index - 1 : index;
}
