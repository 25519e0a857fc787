import { Editor } from "@mariozechner/pi-tui/dist/components/editor.js";

/** What terminals put around a pasted text. */
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

  /** What was typed, of a text that `onSubmit` gave. */
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
