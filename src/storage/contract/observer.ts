/** Something that takes time, as an observer is told of it. */
export interface Observed {
  readonly type: "call" | "statement" | "compaction" | "turn";
  /** `session.append`, `sessions.list`, …; of a statement its first word; `compact`; `prepareTurn`. */
  readonly name: string;
  /** The name of the store. */
  readonly store: string;
  /** "" is the unnamed session. Missing where it is no session's, or not known. */
  readonly sessionId?: string | undefined;
  /** Of a statement: its SQL, in which `?` stands for each value. */
  readonly sql?: string | undefined;
  /** What a call was given, or the values of a statement: they hold what people wrote. */
  readonly values?: readonly unknown[] | undefined;
}

/** Calls `work` at once, and gives what that gives, or throws. */
export type Observer = <T>(observed: Observed, work: () => T) => T;
