import { invalid } from "../../errors.js";
import { createRunWithin, type RunWithin } from "./run-within.js";

/** How long all matching of one search may take, in milliseconds: expressions of a model can take forever. */
const LIMIT = 2000;

/** Runs functions that match expressions, and ends the one in which all of them together have taken too long. */
export class TimeLimit {
  #left = LIMIT;

  private constructor(private readonly runWithin: RunWithin) {}

  static async create(): Promise<TimeLimit> {
    return new TimeLimit(await createRunWithin());
  }

  /** What the function gives. Errors: `INVALID_ARGUMENT` when it took too long. */
  run<T>(match: () => T): T {
    const began = performance.now();
    const result = this.runWithin(this.#left, match);
    this.#left -= performance.now() - began;
    if (result !== null) return result.value;
    throw invalid("The pattern takes too long to match; use a simpler one.", { milliseconds: LIMIT });
  }
}
