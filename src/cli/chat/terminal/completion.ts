import type { AutocompleteProvider } from "@mariozechner/pi-tui/dist/autocomplete.js";

/** A command that Tab completes. */
export interface Completable {
  readonly name: string;
  readonly usage: string;
  readonly help: string;
}

/** The prompt with its command completed, where only one begins as it does; else null. */
export function completed(commands: readonly Completable[], typed: string): string | null {
  const [only, ...others] = /^\/\S*$/u.test(typed) ? beginningWith(commands, typed) : [];
  return only === undefined || others.length > 0 ? null : `/${only.name} `;
}

/** Completes the name of a command at the beginning of the prompt. */
export function completionOf(commands: readonly Completable[]): AutocompleteProvider {
  const fitting = (typed: string) => beginningWith(commands, typed);
  return {
    async getSuggestions(lines, cursorLine, cursorCol) {
      const typed = typedName(lines, cursorLine, cursorCol);
      const items = (typed === null ? [] : fitting(typed)).map(({ name, usage, help }) => {
        return { value: `/${name}`, label: `/${name} ${usage}`.trim(), description: help };
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

function beginningWith(commands: readonly Completable[], typed: string): readonly Completable[] {
  return commands.filter(({ name }) => `/${name}`.startsWith(typed));
}
