import { Spacer } from "@mariozechner/pi-tui/dist/components/spacer.js";
import { Text } from "@mariozechner/pi-tui/dist/components/text.js";
import { matchesKey } from "@mariozechner/pi-tui/dist/keys.js";
import { createRunWithin, type RunWithin } from "@stemma/runner";
import { oneLine, printable, type Style, styleFor } from "../../text.js";
import { Answer } from "./answer.js";
import { type Completable, completed, completionOf, PromptEditor, PromptHistory } from "./prompt-editor.js";
import { editorTheme, Screen, WorkingLine } from "./screen.js";
import type { Terminal } from "./terminal.js";
import { StyledTerminal } from "./terminal.js";

/** A chat on a screen, whose prompt can be typed at all the time. */
export class ScreenTerminal extends StyledTerminal implements Terminal {
  readonly interactive = true;
  readonly style: Style = styleFor(true);
  readonly #screen = new Screen();
  readonly #prompt = new PromptEditor(this.#screen.tui, editorTheme(this.style));
  readonly #history = new PromptHistory();
  readonly #waiting: string[] = [];
  #answer: Answer | null = null;
  #working: WorkingLine | null = null;
  #wake: () => void = () => {};

  private constructor(
    private readonly commands: readonly Completable[],
    private readonly runWithin: RunWithin,
  ) {
    super();
    this.#prompt.setAutocompleteProvider(completionOf(commands, () => this.width));
    this.#prompt.onSubmit = (text) => this.#submit(text);
    this.#screen.tui.addInputListener((key) => (this.#key(key) ? { consume: true } : undefined));
    process.on("SIGINT", this.interrupt);
    process.stdin.once("end", () => this.close());
  }

  /** Shows an empty conversation, and a prompt that completes `commands`. */
  static async open(commands: readonly Completable[]): Promise<ScreenTerminal> {
    const terminal = new ScreenTerminal(commands, await createRunWithin());
    for (const entry of await terminal.#history.load()) terminal.#prompt.addToHistory(entry);
    terminal.#screen.open(terminal.#prompt);
    return terminal;
  }

  get width(): number {
    return this.#screen.tui.terminal.columns;
  }

  async *entries(): AsyncGenerator<string> {
    while (!this.closed) {
      const entry = this.#waiting.shift();
      if (entry === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      this.#showWork();
      this.earlier(entry);
      yield entry;
    }
  }

  close(): void {
    this.closed = true;
    this.#waiting.length = 0;
    this.#wake();
  }

  async end(): Promise<void> {
    this.close();
    this.busy(null);
    process.off("SIGINT", this.interrupt);
    await this.#history.written();
    await this.#screen.end();
  }

  write(text: string): void {
    if (this.#answer === null) {
      this.#answer = new Answer(this.style, this.runWithin);
      this.#gap();
      this.#screen.add(this.#answer);
    }
    this.#answer.add(text);
    this.#screen.draw();
  }

  endLine(): void {
    this.#answer = null;
  }

  earlier(text: string): void {
    this.#gap();
    const [first = "", ...more] = printable(text).split("\n");
    const lines = [`${this.style.accent(">")} ${this.style.bold(first)}`];
    for (const line of more) lines.push(`  ${this.style.bold(line)}`);
    this.#add(lines.join("\n"));
  }

  styled(text: string): void {
    this.endLine();
    this.#add(text);
  }

  hint(text: string): void {
    this.hinted = true;
    this.#screen.setBelow(this.style.dim(printable(text)));
  }

  busy(what: string | null, canStop = false): void {
    const text = `${what}${canStop ? " · Ctrl-C stops" : ""}`;
    if (what !== null && this.#working !== null) {
      this.#working.now(text);
      return;
    }
    this.#working?.stop();
    this.#working = what === null ? null : new WorkingLine(this.#screen.tui, this.style, text);
    this.#showWork();
  }

  #submit(submitted: string): void {
    const entry = this.#prompt.original(submitted);
    if (entry.trim() === "") return;
    this.#prompt.addToHistory(entry);
    this.#history.add(entry);
    this.#waiting.push(entry);
    this.#showWork();
    this.#wake();
  }

  /** True for a key that the prompt does not get. */
  #key(key: string): boolean {
    const isInterrupt = matchesKey(key, "ctrl+c");
    if (this.hinted && !isInterrupt) {
      this.hinted = false;
      this.#screen.setBelow("");
    }
    const isIdle = this.#working === null;
    const isEmpty = this.#prompt.getText() === "";
    if (isInterrupt && isIdle && !isEmpty) this.#prompt.setText("");
    else if (isInterrupt) this.interrupt();
    else if (matchesKey(key, "ctrl+d") && isIdle && isEmpty) this.close();
    else if (matchesKey(key, "ctrl+z")) this.#screen.suspend();
    else return matchesKey(key, "tab") && this.#complete();
    this.#screen.draw();
    return true;
  }

  /** Completes a command before the prompt has shown its list. */
  #complete(): boolean {
    const text = this.#prompt.isShowingAutocomplete() ? null : completed(this.commands, this.#prompt.getText());
    if (text !== null) this.#prompt.setText(text);
    return text !== null;
  }

  #showWork(): void {
    const waiting = this.#waiting.map((entry) => new Text(this.style.dim(`… ${oneLine(entry, this.width - 4)}`), 0, 0));
    this.#screen.setWork(this.#working === null ? waiting : [this.#working, ...waiting]);
  }

  #add(text: string): void {
    this.#screen.add(text === "" ? new Spacer() : new Text(text, 0, 0));
  }

  #gap(): void {
    this.#add("");
  }
}
