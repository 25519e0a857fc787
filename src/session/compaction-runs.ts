/** A compaction under way. */
export interface CompactionRun<T> {
  /** The leaf that it was asked for; undefined for the active one. */
  readonly asked: string | undefined;
  /** The message that the history it summarises ends with; null until that is read. */
  leafId: string | null;
  readonly result: Promise<T>;
}

// By what several session objects have in common (the store, or the provider), and by session.
const underWay = new WeakMap<object, Map<string, Set<CompactionRun<unknown>>>>();

/** The compactions of one session that are under way in this process, whichever object began them. */
export class CompactionRuns<T> {
  constructor(
    private readonly owner: object,
    private readonly sessionId: string,
  ) {}

  get any(): boolean {
    return this.#runs().size > 0;
  }

  /** Gives the run that was asked for the same, or begins one, which ends with `work` or with `end`. */
  share(asked: string | undefined, work: (run: CompactionRun<T>) => Promise<T>): Promise<T> {
    for (const run of this.#runs()) if (run.asked === asked) return run.result;
    let settle = (_result: Promise<T>): void => {};
    const result = new Promise<T>((resolve) => {
      settle = resolve;
    });
    const run: CompactionRun<T> = { asked, leafId: null, result };
    const sessions = underWay.get(this.owner) ?? new Map<string, Set<CompactionRun<unknown>>>();
    underWay.set(this.owner, sessions.set(this.sessionId, new Set([...this.#runs(), run])));
    settle(work(run).finally(() => this.end(run)));
    return result;
  }

  /** The other run that summarises the beginning of this path, or all of it: what it stores shows on this path too. */
  onPath(own: CompactionRun<T>, path: readonly { id: string }[]): CompactionRun<T> | null {
    for (const run of this.#runs()) {
      if (run !== own && run.leafId !== null && path.some(({ id }) => id === run.leafId)) return run;
    }
    return null;
  }

  /** Calls from now on begin a run of their own. */
  end(run: CompactionRun<T>): void {
    const left = [...this.#runs()].filter((each) => each !== run);
    const sessions = underWay.get(this.owner);
    if (left.length > 0) sessions?.set(this.sessionId, new Set(left));
    else sessions?.delete(this.sessionId);
  }

  #runs(): ReadonlySet<CompactionRun<T>> {
    return (underWay.get(this.owner)?.get(this.sessionId) ?? new Set()) as ReadonlySet<CompactionRun<T>>;
  }
}
