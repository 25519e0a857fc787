/** Something that takes time, as an observer is told of it. */
export interface Observed {
  readonly type: "call" | "statement" | "compaction" | "turn" | "agent" | "tool" | "rerank";
  /** `session.append`, `sessions.list`, …; of a statement its first word; `compact`; `prepareTurn`; `invokeAgent`; `executeTool`; `rerank`. */
  readonly name: string;
  /** The name of the store. */
  readonly store: string;
  /** "" is the unnamed session. Missing where it is no session's, or not known. */
  readonly sessionId?: string | undefined;
  /** Of a statement: its SQL, in which `?` stands for each value. */
  readonly sql?: string | undefined;
  /** The arguments of a call, the values of a statement, the input of a tool, or a query and its passages: they hold what people and models wrote. */
  readonly values?: readonly unknown[] | undefined;
  /** Which agent answers, where that is known, and which model it was given. */
  readonly agent?: { readonly name?: string | undefined; readonly model: string } | undefined;
  /** Which tool is called. */
  readonly tool?: { readonly name: string; readonly callId: string } | undefined;
}

/** The usage of an agent's work: the tokens of all its requests to the model. */
export interface AgentUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Runs a part of the work that is done when others ask for it. */
export type Within = <T>(part: () => T) => T;

/** Calls `work` at once, and gives what that gives, or throws. */
export type Observer = <T>(observed: Observed, work: (within: Within) => T) => T;
