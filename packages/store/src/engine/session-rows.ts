/**
 * The rows of one session, and how a statement says so. Where rows name their session, each statement does; where their
 * numbers alone tell, these fragments are empty and bind nothing. So an operation is written once.
 */
export interface SessionRows {
  readonly id: string;
  /** The session's number, which the row ids begin with. Sessions may share it where rows name them. */
  readonly sessionNumber: number;
  readonly namesSessions: boolean;
  /** Begins a condition on its rows, and on its row of `assistant_sessions`. Each binds `ids` where it stands. */
  readonly own: "" | "session_id = ? AND ";
  readonly registered: "" | "id = ? AND ";
  readonly ids: readonly string[];
  /** Begins the columns of an INSERT, and the values, which bind `ids` as well. */
  readonly column: "" | "session_id, ";
  readonly mark: "" | "?, ";
}

/** See `Dialect`. */
interface Naming {
  readonly namesSessions: boolean;
}

const NAMED = { own: "session_id = ? AND ", registered: "id = ? AND ", column: "session_id, ", mark: "?, " } as const;
const NUMBERED = { own: "", registered: "", ids: [], column: "", mark: "" } as const;

export function rowsOf({ namesSessions }: Naming, id: string, sessionNumber: number): SessionRows {
  const { own, registered, column, mark } = namesSessions ? NAMED : NUMBERED;
  const ids = namesSessions ? [id] : NUMBERED.ids;
  // Written out: each append makes one, and a spread takes longer than all of it.
  return { id, sessionNumber, namesSessions, own, registered, ids, column, mark };
}

/**
 * SQL for a number by which sessions `s` come in the order in which they were registered, and for what comes behind it: of
 * equals the id decides, where there may be any.
 */
export function registeredOrder({ namesSessions }: Naming): { readonly by: string; readonly ties: readonly string[] } {
  return namesSessions ? { by: "s.registered", ties: ["s.id"] } : { by: "s.no", ties: [] };
}

/** What `own` of a session's rows binds. */
export function idsOf({ namesSessions }: Naming, id: string): readonly string[] {
  return namesSessions ? [id] : NUMBERED.ids;
}

/** `own` of the rows that a statement calls `alias`. */
export function ownOf({ namesSessions }: Naming, alias: string): string {
  return namesSessions ? `${alias}.${NAMED.own}` : "";
}

/** Begins a condition that is true for rows of one session. */
export function sameSession({ namesSessions }: Naming, row: string, other: string): string {
  return namesSessions ? `${row}.session_id = ${other}.session_id AND ` : "";
}

/** The same of a row and the session `s`. */
export function ofSession({ namesSessions }: Naming, row: string): string {
  return namesSessions ? `${row}.session_id = s.id AND ` : "";
}
