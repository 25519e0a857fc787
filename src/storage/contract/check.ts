export interface CheckOptions {
  /** Repair what can be repaired. Default false: nothing is written. */
  repair?: boolean | undefined;
  /** Only this session. Default: all of them, and what belongs to none. */
  sessionId?: string | undefined;
}

export interface CheckReport {
  /** True if nothing is damaged, or if all damage was repaired. */
  ok: boolean;
  /** How many rows of each table were looked at. */
  checked: Record<string, number>;
  /** What is or was damaged. */
  problems: CheckProblem[];
  /** How many of the problems were mended. */
  repaired: number;
}

export interface CheckProblem {
  /** Which rule of the data model does not hold; docs/stores/checking.md lists them. */
  rule: CheckRule;
  /** The table that it is about. */
  table: string;
  /** Null for what belongs to no session, and for the database as a whole. */
  sessionId: string | null;
  /** The id of the message, summary or entry, the label of the block, the key of the record; null where there is none. */
  id: string | null;
  /** What is wrong, in words. */
  message: string;
  /** True when it is right again: the rows were read anew after they were mended. */
  repaired: boolean;
}

/**
 * `engine`: what the database says of its own file; `session`: a registry row; `place`: a row that stands in no session or in another one;
 * `content`: a message that cannot be read; `fields`: columns that do not say what the content says; `tree`: parents and
 * branches; `totals`: token sums; `summary`: a range of a summary; `media`: what stands outside a message's row; `block`, `entry`,
 * `version`, `record`, `usage`, `index`: the search index; `vector`.
 */
export type CheckRule =
  | "engine"
  | "session"
  | "place"
  | "content"
  | "fields"
  | "tree"
  | "totals"
  | "summary"
  | "media"
  | "block"
  | "entry"
  | "version"
  | "record"
  | "usage"
  | "index"
  | "vector";
