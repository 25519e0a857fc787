import { Editor } from "@mariozechner/pi-tui/dist/components/editor.js";

/** What terminals put around a pasted text. */
const [START, END] = ["\u001b[200~", "\u001b[201~"];

/** The prompt. What is pasted arrives as it was: the library's editor shows a tab as four spaces. */
export class PromptEditor extends Editor {
  #tabbed: string[] = [];

  override handleInput(data: string): void {
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
}

function withoutTabs(text: string): string {
  return text.replaceAll("\t", "    ").replace(/[^\P{Cc}\n]/gu, "");
}
