import type * as SpreadSearch from "../search/spread-search.js";

/** Where the rows are, which is known when a store has looked at its tables. */
export interface Placement {
  /** On several servers by session: the layout `spread`. */
  isSpread: boolean;
  /**
   * A function may run on another server than the one that has the rows. Then it sees one state of them only in a transaction, and its
   * transactions are not numbered as theirs.
   */
  isApart: boolean;
  /** The code that only tables need that are, or are to be, spread; null where they are made already, and are not. */
  code: SpreadCode | null;
}

export interface SpreadCode {
  readonly search: typeof SpreadSearch;
  /** The statements that spread the tables. */
  readonly statements: readonly string[];
}

/** Nearly no store needs it. */
export async function loadSpreadCode(): Promise<SpreadCode> {
  const [search, { SPREAD_TABLES }] = await Promise.all([import("../search/spread-search.js"), import("./spread.js")]);
  return { search, statements: SPREAD_TABLES };
}

/** The code, of tables that are spread: it was loaded when that was found out. */
export function spreadSearchOf({ isSpread, code }: Placement): typeof SpreadSearch | null {
  return isSpread && code !== null ? code.search : null;
}
