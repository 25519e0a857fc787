import xterm from "@xterm/headless";
import { patience } from "./patience.js";

/** What a person would see on a terminal of this size. */
export class Display {
  readonly #terminal: InstanceType<typeof xterm.Terminal>;

  constructor(columns: number, rows: number) {
    this.#terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
  }

  /** Draws what a program wrote. */
  draw(written: string | Uint8Array): void {
    this.#terminal.write(written);
  }

  /** Is told what the terminal answers to questions of the program. */
  onAnswer(take: (answer: string) => void): void {
    this.#terminal.onData(take);
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
  }

  /** The lines on the screen now. */
  lines(): string[] {
    return this.#linesFrom(this.#terminal.buffer.active.baseY);
  }

  /** The same with all that went out at the top. */
  allLines(): string[] {
    return this.#linesFrom(0);
  }

  text(): string {
    return this.lines().join("\n");
  }

  /** Everything that was ever shown and is not erased. */
  allText(): string {
    return this.allLines().join("\n");
  }

  /** How the cells of the first place of a text are drawn. */
  look(text: string): { bold: boolean; dim: boolean; inverse: boolean; colour: number } | null {
    const buffer = this.#terminal.buffer.active;
    for (let row = 0; row < buffer.length; row += 1) {
      const line = buffer.getLine(row);
      const column = line?.translateToString(true).indexOf(text) ?? -1;
      const cell = column < 0 ? undefined : line?.getCell(column);
      if (cell === undefined) continue;
      return {
        bold: cell.isBold() !== 0,
        dim: cell.isDim() !== 0,
        inverse: cell.isInverse() !== 0,
        colour: cell.getFgColor(),
      };
    }
    return null;
  }

  /** Waits until the screen shows this. */
  async shows(text: string | RegExp, timeout = patience(15_000)): Promise<string> {
    const matches = () => (typeof text === "string" ? this.text().includes(text) : text.test(this.text()));
    return this.#until(matches, `does not show ${String(text)}`, timeout);
  }

  async showsNot(text: string, timeout = patience(15_000)): Promise<string> {
    return this.#until(() => !this.text().includes(text), `still shows ${text}`, timeout);
  }

  async #until(holds: () => boolean, problem: string, timeout: number): Promise<string> {
    for (const start = Date.now(); !holds(); ) {
      if (Date.now() - start > timeout) throw new Error(`The screen ${problem}:\n${this.text()}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return this.text();
  }

  #linesFrom(first: number): string[] {
    const buffer = this.#terminal.buffer.active;
    const lines: string[] = [];
    for (let row = first; row < buffer.length; row += 1)
      lines.push((buffer.getLine(row)?.translateToString(true) ?? "").trimEnd());
    while (lines.at(-1) === "") lines.pop();
    return lines;
  }
}
