import { StemmaError } from "../errors.js";
import type { Item } from "./session-file.js";

/** Characters that the values of one session may have, or of one piece of it, until a reader has given it: they are held. */
const MOST_HELD = 200_000_000;
/** What a value takes beside its text, as characters. */
const PER_VALUE = 1000;
/** Values that cannot be read, where they are more than the others: what is told of them is held. */
const MOST_PROBLEMS = 10_000;

/** Bounds what is held of a file that has no end, or is no conversation. */
export class ReadLimits {
  #held = 0;
  #values = 0;
  #problems = 0;

  constructor(
    private readonly mostHeld = MOST_HELD,
    private readonly mostProblems = MOST_PROBLEMS,
  ) {}

  /** Counts a value of the file. Errors: `FILE_REFUSED`. */
  count(item: Item): void {
    if (item.kind === "value") {
      this.#values += 1;
      this.#held += item.length + PER_VALUE;
      if (this.#held <= this.mostHeld) return;
      const message = `A session has more than ${this.mostHeld} characters (each value counts ${PER_VALUE} more) up to line ${item.at.line}, and no end. Split the file. What was read of it is given.`;
      throw new StemmaError("FILE_REFUSED", { line: item.at.line }, message);
    }
    if (item.kind === "listEnd") return;
    this.#problems += 1;
    if (this.#problems <= Math.max(this.mostProblems, this.#values)) return;
    const { at, why } = item;
    const message = `${this.#problems} values cannot be read, more than can; line ${at.line} is ${why}. What was read before is given.`;
    throw new StemmaError("FILE_REFUSED", { line: at.line }, message);
  }

  /** A session, or a piece of one, was given. */
  taken(): void {
    this.#held = 0;
  }
}
