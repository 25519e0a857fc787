import { Text } from "@mariozechner/pi-tui/dist/components/text.js";
import { type Component, Container } from "@mariozechner/pi-tui/dist/tui.js";
import { keepingTui } from "./keeping-terminal.js";

/** Signals that end the process, and the exit codes that shells give for them. */
const ENDED_BY = { SIGTERM: 143, SIGHUP: 129 } as const;

/** Two frames: what was asked for is drawn by then. */
const DRAWN = 40;

/** What is on the screen: the conversation, what goes on, the prompt, and a line under it. */
export class Screen {
  readonly tui = keepingTui();
  readonly #conversation = new Container();
  readonly #work = new Container();
  readonly #below = new Text("", 0, 0);
  readonly #restore = () => this.tui.stop();

  /** Shows the screen, with `prompt` at its end. */
  open(prompt: Component): void {
    for (const part of [this.#conversation, this.#work, prompt, this.#below]) this.tui.addChild(part);
    this.tui.setFocus(prompt);
    // However the process ends, the terminal is left as it was.
    process.once("exit", this.#restore);
    for (const [signal, code] of Object.entries(ENDED_BY)) process.once(signal, () => process.exit(code));
    this.tui.start();
  }

  /** Adds to the end of the conversation. */
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
