import type { AutocompleteProvider } from "@mariozechner/pi-tui/dist/autocomplete.js";
import { wrapped } from "../../text.js";

/** A command that Tab completes. */
export interface Completable {
  readonly name: string;
  /** What stands behind the name, as `/help` shows it. Default: nothing. */
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
