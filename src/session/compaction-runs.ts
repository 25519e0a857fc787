import { perObject } from "../once.js";

/** A compaction under way. */
export interface CompactionRun<T> {
  readonly sessionId: string;
  /** The leaf that it was asked for; undefined for the active one. */
  readonly asked: string | undefined;
  /** The message that the history it summarises ends with; null until that is read. */
  leafId: string | null;
  readonly result: Promise<T>;
}

// By what several session objects have in common: the store, or the provider.
const underWay = perObject((_owner: object) => new Set<CompactionRun<unknown>>());

/** The compactions of one session that are under way in this process, whichever object began them. */
export class CompactionRuns<T> {
  readonly #all: Set<CompactionRun<T>>;

  constructor(
    owner: object,
    private readonly sessionId: string,
  ) {
    this.#all = underWay(owner) as Set<CompactionRun<T>>;
  }

  get any(): boolean {
    return this.#find(() => true) !== undefined;
  }

  /** Gives the run that was asked for the same, or begins one, which ends with `work` or with `end`. */
  share(asked: string | undefined, work: (run: CompactionRun<T>) => Promise<T>): Promise<T> {
    const same = this.#find((run) => run.asked === asked);
    if (same !== undefined) return same.result;
    let settle = (_result: Promise<T>): void => {};
    const result = new Promise<T>((resolve) => {
      settle = resolve;
    });
    const run: CompactionRun<T> = { sessionId: this.sessionId, asked, leafId: null, result };
    this.#all.add(run);
    settle(work(run).finally(() => this.end(run)));
    return result;
  }

  /** The other run that summarises the beginning of this path, or all of it: what it stores shows on this path too. */
  onPath(own: CompactionRun<T>, path: readonly { id: string }[]): CompactionRun<T> | undefined {
    return this.#find((run) => run !== own && path.some(({ id }) => id === run.leafId));
  }

  /** Calls from now on begin a run of their own. */
  end(run: CompactionRun<T>): void {
    this.#all.delete(run);
  }

  #find(matches: (run: CompactionRun<T>) => boolean): CompactionRun<T> | undefined {
    return [...this.#all].find((run) => run.sessionId === this.sessionId && matches(run));
  }
}
