import { beginning } from "@stemma/model";
/** A text as one line for a terminal: no line breaks, no control characters that a message could steer the terminal with. */
export function oneLine(text: string, length = 80): string {
  return beginning(printable(text).replace(/\s+/gu, " ").trim(), length);
}

/** A text for a terminal: line breaks and tabs stay, other control characters go. */
export function printable(text: string): string {
  return text.replace(/\r\n?/gu, "\n").replace(/[^\P{Cc}\n\t]/gu, "");
}

/** A text in lines of at most `width` characters, broken between words; a longer word has a line of its own. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** An ISO time as people here read it: `2026-01-31 14:05`, in the time zone of this machine. */
export function localTime(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Rows as columns, each as wide as its widest cell; the last is not filled up. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((width, row) => Math.max(width, (row[column] ?? "").length), 0),
  );
  return rows
    .map((row) =>
      row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join("  "),
    )
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}

/** `1 message`, `2 messages`. */
export function count(number: number, thing: string, things = `${thing}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? thing : things}`;
}

/** The shortest beginnings of ids that tell them apart, at least 8 characters long. */
export function shortIds(ids: readonly string[]): Map<string, string> {
  const sorted = ids.toSorted();
  const shared = (a: string, b: string | undefined) => {
    let length = 0;
    while (b !== undefined && length < a.length && a[length] === b[length]) length += 1;
    return length;
  };
  return new Map(
    sorted.map((id, index) => {
      const length = Math.max(8, shared(id, sorted[index - 1]) + 1, shared(id, sorted[index + 1]) + 1);
      return [id, id.slice(0, length)];
    }),
  );
}

/** Ways to set a piece of text off. Each gives the text as it is where nothing can be set off. */
export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly italic: Paint;
  readonly underline: Paint;
  readonly strike: Paint;
  readonly accent: Paint;
  readonly warning: Paint;
  /** A word that was looked for. */
  readonly match: Paint;
}

type Paint = (text: string) => string;

const paintedBy = (paint: (on: number, off: number) => Paint): Style => ({
  bold: paint(1, 22),
  dim: paint(2, 22),
  italic: paint(3, 23),
  underline: paint(4, 24),
  strike: paint(9, 29),
  accent: paint(36, 39),
  warning: paint(33, 39),
  match: (text) => paint(1, 22)(paint(33, 39)(text)),
});

const COLOURED = paintedBy((on, off) => (text) => `\u001b[${on}m${text}\u001b[${off}m`);
const PLAIN = paintedBy(() => (text) => text);

/** The styles for an output: none unless it is a terminal, and none where `NO_COLOR` or a `dumb` terminal forbids them. */
export function styleFor(isTerminal: boolean): Style {
  return isTerminal && !process.env.NO_COLOR && process.env.TERM !== "dumb" ? COLOURED : PLAIN;
}
