import { StemmaError } from "../../errors.js";

/** How long all matching of one search may take, in milliseconds: expressions of a model can take forever. */
const LIMIT = 2000;

/** Runs functions that match expressions, and ends the one in which all of them together have taken too long. */
export class TimeLimit {
  #left = LIMIT;

  private constructor(
    private readonly work: { run: () => unknown },
    private readonly go: (timeout: number) => void,
  ) {}

  static async create(): Promise<TimeLimit> {
    const { createContext, Script } = await import("node:vm");
    const work = { run: (): unknown => undefined };
    const context = createContext({ work });
    const script = new Script("work.run()");
    return new TimeLimit(work, (timeout) => script.runInContext(context, { timeout }));
  }

  /** What the function gives. Errors: `INVALID_ARGUMENT` when it took too long. */
  run<T>(match: () => T): T {
    let result: { value: T } | null = null;
    this.work.run = () => {
      result = { value: match() };
    };
    const began = performance.now();
    try {
      this.go(Math.max(1, Math.ceil(this.#left)));
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      const message = "The pattern takes too long to match; use a simpler one.";
      throw new StemmaError("INVALID_ARGUMENT", { milliseconds: LIMIT }, message, { cause: error });
    } finally {
      this.#left -= performance.now() - began;
    }
    return (result as unknown as { value: T }).value;
  }
}
