import { reasonOf, StemmaError } from "@stemma/model";
import type { CheckOptions, CheckProblem } from "../contract/store.js";
import type { Operation } from "../engine/operation.js";
import type { CallOrder } from "../engine/runner.js";
import type { OpenStore } from "../sql/sql-store.js";
import type { CheckDialect } from "./check-dialect.js";
import { type Finding, Findings } from "./findings.js";

type Look = (found: Findings) => Operation<void>;

/** A table, and the session whose rows of it are looked at. */
interface Subject {
  readonly table: string;
  readonly sessionId?: string;
}

/** How many looks that pause are taken before one that does not. */
const GLANCES = 3;

/** One check of a store under way: each look is a transaction of its own, and so is each repair. */
export class CheckRun {
  readonly problems: CheckProblem[] = [];
  readonly checked: Record<string, number> = {};
  /** The file itself is damaged: what is written to it could be lost with the rest. */
  isBroken = false;
  /** Some message or its media cannot be read, so what it needs is not known. */
  isUnreadable = false;

  constructor(
    readonly open: OpenStore,
    readonly dialect: CheckDialect,
    readonly options: CheckOptions,
    private readonly callOrder: CallOrder,
  ) {}

  get #mayGlance(): boolean {
    return this.open.runner.hasSteps && !this.dialect.indexCheckWrites;
  }

  get mayRepair(): boolean {
    return this.options.repair === true && !this.isBroken;
  }

  /** Looks, mends what was found where that is wanted, and looks again: what is found no more was repaired. */
  async step(subject: Subject, look: Look, mend: (found: Findings) => Promise<void>): Promise<void> {
    const before = await this.#look(subject, look);
    if (before.problems.length === 0 || !this.mayRepair) return this.report(before, null);
    const failure = await mend(before).then(() => null, reasonOf);
    const after = await this.#look(subject, look);
    const { table, sessionId } = subject;
    if (failure !== null) after.add("engine", table, sessionId ?? null, null, `The repair was refused: ${failure}`);
    this.report(before, after);
  }

  /**
   * Looks while others work; gives null where it failed, or no such look can be taken. What it found may be of what they wrote,
   * so it holds only when another look finds it in one state.
   */
  async glance<T>(look: () => Operation<T>): Promise<T | null> {
    if (!this.#mayGlance) return null;
    try {
      return await this.open.runner.readInSteps(look);
    } catch (error) {
      if (StemmaError.isInstance(error, "STORE_CLOSED")) throw error;
      return null;
    }
  }

  /**
   * Glances until nothing is found that all of them found: what others wrote during one is right at the next. The last one; null where
   * something is left, or none can be taken, so that a look at one state is needed, during which nobody works.
   */
  async glances<T>(look: () => Operation<T>, keysOf: (seen: T) => readonly string[]): Promise<T | null> {
    if (!this.#mayGlance) return null;
    let wrong: ReadonlySet<string> | null = null;
    for (let count = 0; count < GLANCES; count += 1) {
      const seen = await this.glance(look);
      // Others may write just where it looks.
      if (seen === null) continue;
      wrong = inBoth(wrong, keysOf(seen));
      if (wrong.size === 0) return seen;
    }
    return null;
  }

  // In the order of a session's calls, where it is one session that is looked at.
  async #look(subject: Subject, look: Look): Promise<Findings> {
    const { sessionId } = subject;
    const glance = function* () {
      const found = new Findings();
      yield* look(found);
      return found;
    };
    const glanced = await this.glances(glance, ({ problems }) => problems.map(whereOf));
    const found = new Findings();
    if (glanced !== null) {
      for (const [table, rows] of Object.entries(glanced.checked)) found.count(table, rows);
      return found;
    }
    const read = () => this.open.runner.read(() => look(found));
    try {
      await (sessionId === undefined ? read() : this.callOrder.read(sessionId, read));
    } catch (error) {
      this.noteUnreadable(subject, error, found);
    }
    return found;
  }

  /** Whatever is wrong with rows is a finding, and the rest is looked at all the same. Errors: `STORE_CLOSED`. */
  noteUnreadable({ table, sessionId }: Subject, error: unknown, found: Findings): void {
    if (StemmaError.isInstance(error, "STORE_CLOSED")) throw error;
    this.isBroken = true;
    found.add("engine", table, sessionId ?? null, null, `The rows could not be read: ${reasonOf(error)}`);
  }

  /** Takes over what was found, and what was found after a repair; null where there was none. */
  report(before: Findings, after: Findings | null): void {
    const last = after ?? before;
    for (const [table, rows] of Object.entries(last.checked)) this.checked[table] = (this.checked[table] ?? 0) + rows;
    const left = new Set(last.problems.map(keyOf));
    const known = new Set(before.problems.map(keyOf));
    for (const problem of before.problems) this.problems.push({ ...problem, repaired: !left.has(keyOf(problem)) });
    for (const problem of last.problems) {
      if (!known.has(keyOf(problem))) this.problems.push({ ...problem, repaired: false });
    }
    this.isUnreadable ||= last.problems.some(({ rule }) => rule === "content" || rule === "media");
  }

  /** Writes in the order of a session's calls, "" for none. */
  write<T>(sessionId: string, operation: () => Operation<T>): Promise<T> {
    const { runner, sql } = this.open;
    const { lockSession } = sql;
    const locked = function* () {
      if (lockSession !== null) yield* lockSession(sessionId);
      return yield* operation();
    };
    return this.callOrder.write(sessionId, () => runner.write(locked));
  }
}

const inBoth = (before: ReadonlySet<string> | null, keys: readonly string[]): ReadonlySet<string> =>
  new Set(before === null ? keys : keys.filter((key) => before.has(key)));

// What a problem says may change while others write.
const whereOf = ({ rule, table, sessionId, id }: Finding) => JSON.stringify([rule, table, sessionId, id]);

const keyOf = ({ rule, table, sessionId, id, message }: Finding) =>
  JSON.stringify([rule, table, sessionId, id, message]);
