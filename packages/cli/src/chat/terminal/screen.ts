import type { EditorTheme } from "@mariozechner/pi-tui/dist/components/editor.js";
import { Loader } from "@mariozechner/pi-tui/dist/components/loader.js";
import type { MarkdownTheme } from "@mariozechner/pi-tui/dist/components/markdown.js";
import { Text } from "@mariozechner/pi-tui/dist/components/text.js";
import { ProcessTerminal } from "@mariozechner/pi-tui/dist/terminal.js";
import { type Component, Container, TUI } from "@mariozechner/pi-tui/dist/tui.js";
import { truncateToWidth } from "@mariozechner/pi-tui/dist/utils.js";
import type { Style } from "../../text.js";
import { oneLine } from "../../text.js";

/** Signals that end the process, and the exit codes that shells give for them. */
const ENDED_BY = { SIGTERM: 143, SIGHUP: 129 } as const;

/** Two frames: what was asked for is drawn by then. */
const DRAWN = 40;

/** Draws the conversation, what goes on, the prompt, and a line under it. */
export class Screen {
  readonly tui = keepingTui();
  readonly #conversation = new Container();
  readonly #work = new Container();
  readonly #below = new Text("", 0, 0);
  readonly #restore = () => this.tui.stop();

  open(prompt: Component): void {
    for (const part of [this.#conversation, this.#work, prompt, this.#below]) this.tui.addChild(part);
    this.tui.setFocus(prompt);
    // However the process ends, the terminal is left as it was.
    process.once("exit", this.#restore);
    for (const [signal, code] of Object.entries(ENDED_BY)) process.once(signal, () => process.exit(code));
    this.tui.start();
  }

  add(component: Component): void {
    this.#conversation.addChild(component);
    this.draw();
  }

  /** Shows what goes on, in place of what was shown of it. */
  setWork(components: readonly Component[]): void {
    this.#work.clear();
    for (const component of components) this.#work.addChild(component);
    this.draw();
  }

  setBelow(text: string): void {
    this.#below.setText(text);
    this.draw();
  }

  draw(): void {
    this.tui.requestRender();
  }

  /** Leaves the conversation on the screen, and gives the terminal back. */
  async end(): Promise<void> {
    process.off("exit", this.#restore);
    this.tui.clear();
    this.tui.addChild(this.#conversation);
    this.draw();
    await new Promise((resolve) => setTimeout(resolve, DRAWN));
    this.tui.stop();
  }

  /** Stops the process until the shell continues it. */
  suspend(): void {
    this.tui.stop();
    process.kill(0, "SIGTSTP");
    // Done when the shell continues the process, and at once where there is no shell that could.
    setImmediate(() => {
      this.tui.start();
      this.tui.requestRender(true);
    });
  }
}

/** How the library begins to draw everything anew: it erases the screen, and what has gone out at its top. */
const ERASE_ALL = "\u001b[2J\u001b[H\u001b[3J";
const ERASE_SCREEN = "\u001b[2J\u001b[H";

/** A `TUI` on the terminal of the process that erases nothing that has gone out at the top of the screen. */
function keepingTui(): TUI {
  // The library keeps this to itself.
  const tui: TUI = new FittingTui(new KeepingTerminal(() => Number(Reflect.get(tui, "previousViewportTop"))));
  return tui;
}

/**
 * The terminal of the process. What the user did before the chat stays above it, and so does what the chat has shown: where the
 * library draws everything anew, this draws the screen, and what goes out at its top by that.
 */
class KeepingTerminal extends ProcessTerminal {
  /** Of the window that was drawn last. */
  #size = "";

  /** `firstLine` is the first line that the screen shows, as it was drawn last. */
  constructor(private readonly firstLine: () => number) {
    super();
  }

  override start(onInput: (data: string) => void, onResize: () => void): void {
    this.#size = "";
    super.start(onInput, onResize);
  }

  override write(data: string): void {
    const size = `${this.columns}×${this.rows}`;
    const isSameWindow = size === this.#size;
    this.#size = size;
    const at = data.indexOf(ERASE_ALL);
    if (at < 0) {
      super.write(data);
      return;
    }
    const lines = data.slice(at + ERASE_ALL.length).split("\r\n");
    const bottom = Math.max(0, lines.length - this.rows);
    const first = isSameWindow ? Math.min(this.firstLine(), bottom) : bottom;
    super.write(data.slice(0, at) + ERASE_SCREEN + lines.slice(first).join("\r\n"));
  }
}

/**
 * A `TUI` none of whose lines is wider than the terminal: of such a line the library ends the process. Its components make one
 * where there is no room: for a character of two columns, for the cursor behind the last character, or for a margin.
 */
export class FittingTui extends TUI {
  #width = 0;
  #drawn: readonly string[] = [];
  #fitted: readonly string[] = [];

  override render(width: number): string[] {
    const lines = super.render(width);
    const [drawn, fitted] = width === this.#width ? [this.#drawn, this.#fitted] : [[], []];
    // Most lines of a long conversation are those of the last time: measuring them all would take long.
    const fitting = lines.map((line, index) => (line === drawn[index] ? fitted[index] : null) ?? cut(line, width));
    this.#width = width;
    this.#drawn = lines;
    this.#fitted = fitting;
    // The library changes the array that it gets.
    return [...fitting];
  }
}

function cut(line: string, width: number): string {
  return truncateToWidth(line, width, "");
}

/** A line that moves while something is done: since how many seconds, and what. */
export class WorkingLine implements Component {
  readonly #loader: Loader;
  readonly #since = performance.now();
  readonly #clock: NodeJS.Timeout;
  #what: string;

  constructor(tui: TUI, { accent, dim }: Style, what: string) {
    this.#what = what;
    this.#loader = new Loader(tui, accent, dim, this.#text());
    this.#clock = setInterval(() => this.now(this.#what), 1000);
  }

  now(what: string): void {
    this.#what = what;
    this.#loader.setMessage(this.#text());
  }

  stop(): void {
    clearInterval(this.#clock);
    this.#loader.stop();
  }

  render(width: number): string[] {
    return this.#loader.render(width);
  }

  invalidate(): void {
    this.#loader.invalidate();
  }

  #text(): string {
    const seconds = Math.floor((performance.now() - this.#since) / 1000);
    return `${seconds} s · ${oneLine(this.#what)}`;
  }
}

export function markdownTheme(style: Style): MarkdownTheme {
  const { bold, dim, italic, underline, strike, accent } = style;
  return {
    heading: (text) => bold(text),
    link: underline,
    linkUrl: dim,
    code: accent,
    codeBlock: (text) => text,
    codeBlockBorder: dim,
    // What is copied from the screen is what the model wrote.
    codeBlockIndent: "",
    quote: italic,
    quoteBorder: dim,
    hr: dim,
    listBullet: accent,
    bold,
    italic,
    strikethrough: strike,
    underline,
  };
}

export function editorTheme({ accent, dim }: Style): EditorTheme {
  const selectList = {
    selectedPrefix: accent,
    selectedText: accent,
    description: dim,
    scrollInfo: dim,
    noMatch: dim,
  };
  return { borderColor: dim, selectList };
}
