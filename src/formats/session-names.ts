import type { SessionMessage } from "../model/message.js";
import { searchableText } from "../model/text.js";
import { nameFromText } from "./identity.js";

/** The names of a session while its file is read: a title that was given wins over what a user said first. */
export class SessionNames {
  readonly #all: string[] = [];
  #hasTitle = false;

  get latest(): string | undefined {
    return this.#all.at(-1);
  }

  get former(): string[] {
    return this.#all.slice(0, -1);
  }

  /** Takes a title; anything but a text is none. */
  give(title: unknown): void {
    const name = typeof title === "string" ? nameFromText(title) : null;
    if (name === null) return;
    this.#hasTitle = true;
    this.#add(name);
  }

  /** Names the session after what a user said, where it has no name yet. */
  after(message: SessionMessage): void {
    if (this.#hasTitle || this.#all.length > 0 || message.role !== "user") return;
    const text = searchableText(message);
    // What a program puts before the user's words is set in tags.
    const name = /^\s*(<|Caveat: |# AGENTS\.md)/.test(text) ? null : nameFromText(text);
    if (name !== null) this.#add(name);
  }

  #add(name: string): void {
    if (this.latest === name) return;
    this.#all.push(name);
    // The first one and the newest: a file can be named anew with every prompt.
    if (this.#all.length > 20) this.#all.splice(1, 1);
  }
}
