import { appendFile, mkdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { AutocompleteProvider } from "@mariozechner/pi-tui/dist/autocomplete.js";
import { Editor } from "@mariozechner/pi-tui/dist/components/editor.js";
import { findJson } from "@stemma/model";
import { replaceFile } from "@stemma/model/files";
import { wrapped } from "../../text.js";

/** Marks that terminals put around a pasted text. */
const [START, END] = ["\u001b[200~", "\u001b[201~"];

/** Marks that take a column of their own behind the character to which they belong. */
const WIDE_MARKS = /(?:[\uff9e\uff9f\u0e33\u0eb3][\p{M}\u200c\u200d]*)+/gu;
const OTHER_MARKS = /[^\uff9e\uff9f\u0e33\u0eb3]/gu;

/**
 * The prompt. What is pasted arrives as it was: the library's editor shows a tab as four spaces. Where the terminal is too narrow
 * for a character and the cursor, the lines are wider than it: the library's editor calls itself without an end there.
 */
export class PromptEditor extends Editor {
  #tabbed: string[] = [];
  /** How wide it was drawn last: the keys that go up and down count lines of that width. */
  #width = 0;

  override render(width: number): string[] {
    this.#width = Math.max(width, this.#least());
    return super.render(this.#width);
  }

  override handleInput(data: string): void {
    if (this.#width > 0 && this.#width < this.#least()) this.render(this.#width);
    if (data.startsWith(START) && data.endsWith(END) && data.includes("\t"))
      this.#tabbed.push(data.slice(START.length, -END.length).replace(/\r\n?/gu, "\n").trim());
    super.handleInput(data);
  }

  /** The typed text behind one that `onSubmit` gave. */
  original(submitted: string): string {
    const text = this.#tabbed.reduce((text, pasted) => text.replace(withoutTabs(pasted), () => pasted), submitted);
    this.#tabbed = [];
    return text;
  }

  /** Columns for the widest character and the cursor. */
  #least(): number {
    const marks = [...this.getText().matchAll(WIDE_MARKS)].map(([found]) => found.replace(OTHER_MARKS, "").length);
    return 3 + marks.reduce((most, count) => Math.max(most, count), 0);
  }
}

function withoutTabs(text: string): string {
  return text.replaceAll("\t", "    ").replace(/[^\P{Cc}\n]/gu, "");
}

/** Entries that a chat starts with. */
const MAX_ENTRIES = 100;
/** The file is cut back when it holds more entries than this. */
const MOST = 1_000;

/**
 * The prompt's history over restarts: a line of JSON for each entry, in `STEMMA_HISTORY`, else
 * `~/.stemma/prompt-history.jsonl`, readable for the user only. A chat works also where the file cannot be read or written.
 */
export class PromptHistory {
  readonly #path = process.env.STEMMA_HISTORY || join(homedir(), ".stemma", "prompt-history.jsonl");
  #last: string | undefined;
  #writes: Promise<void> = Promise.resolve();

  /** The newest entries, oldest first. */
  async load(): Promise<string[]> {
    const lines = (await readFile(this.#path, "utf8").catch(() => "")).split("\n").filter((line) => line !== "");
    const entries = lines.slice(-MAX_ENTRIES).flatMap(parseEntry);
    this.#last = entries.at(-1);
    if (lines.length > MOST) {
      const content = lines.slice(-MAX_ENTRIES).map((line) => `${line}\n`);
      await replaceFile(this.#path, content.join(""), { mode: 0o600 }).catch(() => {});
    }
    return entries;
  }

  /** Adds an entry, unless it repeats the one before. */
  add(entry: string): void {
    if (entry === this.#last) return;
    this.#last = entry;
    this.#writes = this.#writes.then(() => this.#append(entry)).catch(() => {});
  }

  /** Resolves when all entries are written. */
  written(): Promise<void> {
    return this.#writes;
  }

  async #append(entry: string): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    await appendFile(this.#path, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
  }
}

// Another program may have written to the file, or died in the middle of a line.
function parseEntry(line: string): string[] {
  const entry = findJson(line);
  return typeof entry === "string" ? [entry] : [];
}

/** A command that Tab completes. */
export interface Completable {
  readonly name: string;
  /** The arguments as `/help` shows them. Default: nothing. */
  readonly usage?: string;
  readonly help: string;
}

/** The prompt with its command completed, where only one begins as it does; else null. */
export function completed(commands: readonly Completable[], typed: string): string | null {
  const [only, ...others] = /^\/\S*$/u.test(typed) ? beginningWith(commands, typed) : [];
  return only === undefined || others.length > 0 ? null : `/${only.name} `;
}

/** Columns that the list takes beside the names and what the commands do. */
const FRAME = 8;

/** Completes the name of a command at the beginning of the prompt, on a screen of `width` columns. */
export function completionOf(commands: readonly Completable[], width: () => number): AutocompleteProvider {
  const fitting = (typed: string) => beginningWith(commands, typed);
  return {
    async getSuggestions(lines, cursorLine, cursorCol) {
      const typed = typedName(lines, cursorLine, cursorCol);
      const found = (typed === null ? [] : fitting(typed)).map((command) => ({ ...command, label: callOf(command) }));
      const room = width() - FRAME - Math.max(0, ...found.map(({ label }) => label.length));
      const items = found.map(({ name, label, help }) => {
        const [line = "", more] = wrapped(help, room);
        return { value: `/${name}`, label, description: more === undefined ? line : `${line} …` };
      });
      return typed === null || items.length === 0 ? null : { items, prefix: typed };
    },
    applyCompletion(lines, cursorLine, cursorCol, { value }) {
      const typed = typedName(lines, cursorLine, cursorCol);
      // Whoever types fast is ahead of the list.
      const [first] = typed === null || value.startsWith(typed) ? [] : fitting(typed);
      const name = first === undefined ? value : `/${first.name}`;
      if (typed === null || !name.startsWith(typed)) return { lines, cursorLine, cursorCol };
      const rest = (lines[0] ?? "").slice(cursorCol).trimStart();
      return { lines: lines.with(0, `${name} ${rest}`), cursorLine, cursorCol: name.length + 1 };
    },
  };
}

/** The name of a command, as far as it is typed; null where none is. */
function typedName(lines: readonly string[], cursorLine: number, cursorCol: number): string | null {
  const typed = cursorLine === 0 ? (lines[0] ?? "").slice(0, cursorCol) : "";
  return /^\/\S*$/u.test(typed) ? typed : null;
}

/** How a command is called. */
export function callOf({ name, usage = "" }: Completable): string {
  return `/${name} ${usage}`.trim();
}

function beginningWith(commands: readonly Completable[], typed: string): readonly Completable[] {
  return commands.filter(({ name }) => `/${name}`.startsWith(typed));
}
