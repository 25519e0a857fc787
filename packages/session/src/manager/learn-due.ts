import { check, defineOptions, estimateMessageTokens, FIRST_TIME, reasonOf, StemmaError } from "@stemma/model";
import { listAll, type Store, storeTime } from "@stemma/store";
import type { Learner } from "../learning/learner.js";
import type { Learned } from "../learning/learning-run.js";

/** Which sessions are learned from, and how far. */
export interface LearnDueOptions {
  /** How many sessions are learned from at most. Default: all that are due. */
  limit?: number | undefined;
  /** Milliseconds since 1970, or a `Date`, from which on no further call of the learn function begins. Default: never. */
  deadline?: number | Date | undefined;
  /**
   * Once the calls have cost so much, as their `usage.cost` tells, no further one begins: the last one may exceed it. A call that
   * tells no cost is the last one, too. Default: no limit.
   */
  maxCost?: number | undefined;
  /** Only sessions to which nothing was written for so many milliseconds. Default 0. */
  idleFor?: number | undefined;
  /** Only count what there is to learn from; the learn function is not called. Default false. */
  dryRun?: boolean | undefined;
}

/** An account of all that `learnDue` did, or with `dryRun` would do. */
export interface LearnDueReceipt {
  readonly dryRun: boolean;
  readonly sessions: number;
  readonly messages: number;
  /** With `dryRun`: estimated tokens of these messages, without the prompts around them; else 0. */
  readonly tokens: number;
  /** Edits that were stored. */
  readonly edits: number;
  /** As the learn function told it. */
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number; readonly cost: number };
  /** Sessions with what failed in them: they stay due. */
  readonly failed: readonly { readonly sessionId: string; readonly error: string }[];
  /**
   * Sessions of nobody that were left out, since they would be learned into a block of their user: they stay due until somebody
   * claims them, and `isMoreDue` does not count them. 0 with `dryRun`, which counts them among `sessions`.
   */
  readonly withoutUser: number;
  /** Sessions may be left that are due: a limit was reached, something failed, or another process is at work on one. */
  readonly isMoreDue: boolean;
}

export const LEARN_DUE = defineOptions<LearnDueOptions>({
  limit: check.whole(1),
  deadline: check.rule(
    "milliseconds since 1970, or a Date",
    (value) => Number.isFinite(value) || (value instanceof Date && Number.isFinite(value.getTime())),
  ),
  maxCost: check.rule("a number above 0", (value) => typeof value === "number" && value > 0),
  idleFor: check.whole(0),
  dryRun: check.flag,
});

/** Learns from the sessions of a store that are due, as `SessionManager.learnDue` does. */
export async function learnDue(
  store: Store,
  options: LearnDueOptions,
  learnerOf: (sessionId: string) => Learner,
): Promise<LearnDueReceipt> {
  const { idleFor = 0 } = options;
  const idleSince = async () => Math.max(Date.parse(FIRST_TIME), (await storeTime(store)) - idleFor);
  const changedBefore = idleFor === 0 ? undefined : new Date(await idleSince()).toISOString();
  const run = new DueRun(store, options, learnerOf);
  const left: string[] = [];
  for await (const id of listAll((page) => store.sessions.due({ ...page, changedBefore }), String)) {
    if (run.isOver) break;
    if (!(await run.learnFrom(id, false))) left.push(id);
  }
  // Whoever is at work there may have died, which shows after some seconds.
  for (const id of left) if (!run.isOver) await run.learnFrom(id, true);
  return run.receipt;
}

const NOTHING: LearnDueReceipt = {
  dryRun: false,
  sessions: 0,
  messages: 0,
  tokens: 0,
  edits: 0,
  usage: { inputTokens: 0, outputTokens: 0, cost: 0 },
  failed: [],
  withoutUser: 0,
  isMoreDue: false,
};

class DueRun {
  receipt: LearnDueReceipt;
  #untold = 0;

  constructor(
    private readonly store: Store,
    private readonly options: LearnDueOptions,
    private readonly learnerOf: (sessionId: string) => Learner,
  ) {
    this.receipt = { ...NOTHING, dryRun: options.dryRun ?? false };
  }

  /** True once a limit is reached. */
  get isOver(): boolean {
    const { limit = Number.POSITIVE_INFINITY } = this.options;
    if (this.receipt.sessions < limit) return this.#mayAskNoMore();
    this.#leave();
    return true;
  }

  #mayAskNoMore(): boolean {
    const isOver = !this.#mayAsk(this.receipt.usage.cost, this.#untold);
    if (isOver) this.#leave();
    return isOver;
  }

  #leave(): void {
    this.receipt = { ...this.receipt, isMoreDue: true };
  }

  #mayAsk(cost: number, untold: number): boolean {
    const { deadline = Number.POSITIVE_INFINITY, maxCost } = this.options;
    if (Number(deadline) <= Date.now()) return false;
    return maxCost === undefined || (untold === 0 && cost < maxCost);
  }

  /** Learns from a session. False while another process does; with `waits` that is waited for. */
  async learnFrom(sessionId: string, waits: boolean): Promise<boolean> {
    try {
      const isDone = await this.#learn(sessionId, waits);
      if (!isDone && waits) this.#leave();
      return isDone;
    } catch (error) {
      const isNobodys = StemmaError.isInstance(error, "USER_REQUIRED") && (await this.#userOf(sessionId)) === null;
      if (isNobodys) this.receipt = { ...this.receipt, withoutUser: this.receipt.withoutUser + 1 };
      else this.#failed(sessionId, error);
      return true;
    }
  }

  async #learn(sessionId: string, waits: boolean): Promise<boolean> {
    const session = this.store.session(sessionId);
    const learner = this.learnerOf(sessionId);
    for (let learnedBefore = 0; ; ) {
      const change = await session.change();
      const news = await learner.news();
      if (this.options.dryRun) return this.#count(news.length, { tokens: sum(news.map(estimateMessageTokens)) });
      // What is written from now on makes it due again.
      if (news.length === 0) {
        await this.store.sessions.markLearned(sessionId, change);
        return true;
      }
      if (this.#mayAskNoMore()) return true;
      const { cost } = this.receipt.usage;
      const untold = this.#untold;
      const mayAsk = (done: Learned) => this.#mayAsk(cost + done.usage.cost, untold + done.untold);
      const learned = await learner.runWithin({ mayAsk, waits, isHeard: true });
      if (learned === null) continue;
      this.#untold += learned.untold;
      this.#count(learned.messages, learned, learnedBefore === 0 && learned.messages > 0 ? 1 : 0);
      learnedBefore += learned.messages;
      if (learned.failure !== null) throw learned.failure;
      // Another process may have learned it all while this one waited for it.
      if (learned.messages === 0 && (await learner.news()).length > 0) return false;
    }
  }

  #count(
    messages: number,
    { edits = 0, tokens = 0, usage = NOTHING.usage }: Partial<Pick<LearnDueReceipt, "edits" | "tokens" | "usage">>,
    sessions = messages > 0 ? 1 : 0,
  ): true {
    const { receipt } = this;
    this.receipt = {
      ...receipt,
      sessions: receipt.sessions + sessions,
      messages: receipt.messages + messages,
      tokens: receipt.tokens + tokens,
      edits: receipt.edits + edits,
      usage: {
        inputTokens: receipt.usage.inputTokens + usage.inputTokens,
        outputTokens: receipt.usage.outputTokens + usage.outputTokens,
        cost: receipt.usage.cost + usage.cost,
      },
    };
    return true;
  }

  async #userOf(sessionId: string): Promise<string | null | undefined> {
    return (await this.store.sessions.get(sessionId))?.user_id;
  }

  #failed(sessionId: string, error: unknown): void {
    const failed = [...this.receipt.failed, { sessionId, error: reasonOf(error) }];
    this.receipt = { ...this.receipt, failed, isMoreDue: true };
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
