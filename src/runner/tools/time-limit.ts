import { StemmaError } from "../../errors.js";

/** How long one matching may take, in milliseconds: expressions of a model can take forever. */
const LIMIT = 2000;

/** Runs functions that match expressions, and ends one that takes too long. */
export class TimeLimit {
  private constructor(
    private readonly work: { run: () => unknown },
    private readonly go: () => void,
  ) {}

  static async create(): Promise<TimeLimit> {
    const { createContext, Script } = await import("node:vm");
    const work = { run: (): unknown => undefined };
    const context = createContext({ work });
    const script = new Script("work.run()");
    return new TimeLimit(work, () => script.runInContext(context, { timeout: LIMIT }));
  }

  /** What the function gives. Errors: `INVALID_ARGUMENT` when it took too long. */
  run<T>(match: () => T): T {
    let result: { value: T } | null = null;
    this.work.run = () => {
      result = { value: match() };
    };
    try {
      this.go();
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      const message = "The pattern takes too long to match; use a simpler one.";
      throw new StemmaError("INVALID_ARGUMENT", { milliseconds: LIMIT }, message, { cause: error });
    }
    return (result as unknown as { value: T }).value;
  }
}
