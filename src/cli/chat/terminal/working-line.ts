import { Loader } from "@mariozechner/pi-tui/dist/components/loader.js";
import type { Component, TUI } from "@mariozechner/pi-tui/dist/tui.js";
import type { Style } from "../../style.js";
import { oneLine } from "../../text.js";

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

  /** What is done from now on. */
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
