import type { AsyncConnection, Row, SqlValue, Statement, Together, TransactionMode } from "@stemma/store";
import { withoutUnstorable } from "@stemma/store";
import { afterLost, failureOf, isStorable, postgresError } from "../error.js";
import { qualify } from "../tables/names.js";
import type { PostgresDriver, PostgresQuery } from "./column-types.js";
import { readRows } from "./column-types.js";

const CHARACTERISTICS: Record<TransactionMode, string> = {
  read: "ISOLATION LEVEL REPEATABLE READ READ ONLY",
  // Each statement sees what was committed before it, and so everything that a lock waited for. Not READ WRITE: a database
  // that is read-only by default, say because its disk is full, refuses these as it refuses a statement alone.
  write: "ISOLATION LEVEL READ COMMITTED",
  idempotent: "ISOLATION LEVEL READ COMMITTED",
};

/** For the rest of the transaction. */
const ISO_TIMES = "SELECT set_config('datestyle', 'ISO', true)";

const MAX_ATTEMPTS = 6;

/** Properties of a database that a store learns when it looks at its tables. */
export interface Circumstances {
  /** Calls of several sessions may share a statement. */
  readonly mayGather: () => boolean;
  /** The database writes times as the standard does. */
  readonly isIso: () => boolean;
}

/** A connection on a client of Postgres. Conflicts, and connections that are lost, are tried again where that is safe. */
export function connectPostgres(
  driver: PostgresDriver,
  schema: string | null,
  close: () => Promise<void>,
  { mayGather, isIso }: Circumstances,
): AsyncConnection {
  const texts = new Map<string, string>();
  const textOf = (sql: string): string => {
    const text = texts.get(sql) ?? qualify(numberValues(sql), schema);
    texts.set(sql, text);
    return text;
  };
  const run = async (query: PostgresQuery, statement: Statement): Promise<Row[]> => {
    const { sql, values, isFrequent } = withoutUnstorable(statement, isUnstorable);
    try {
      return readRows(await query(textOf(sql), values, isFrequent));
    } catch (error) {
      throw postgresError(error);
    }
  };

  const transact = async <T>(mode: TransactionMode, work: (query: Query) => Promise<T>): Promise<T> => {
    const failed = new Set<unknown>();
    try {
      return await driver.transaction(CHARACTERISTICS[mode], async (query) => {
        try {
          if (!isIso()) await query(ISO_TIMES, []);
          return await work((statement) => run(query, statement));
        } catch (error) {
          failed.add(error);
          throw error;
        }
      });
    } catch (error) {
      // What the work itself threw is the caller's, whatever it is.
      throw failed.has(error) ? error : postgresError(error);
    }
  };

  const gathered = gathering((statement) => run(driver.query, statement));
  const single = (statement: Statement): Promise<Row[]> => {
    let isShared = driver.isPool && mayGather() && isIso() && statement.together !== undefined;
    // A statement alone is isolated as the host's connections are by default; where that lets it meet others in a
    // conflict, it is tried again with an isolation that makes it wait for them.
    let isAlone = isIso();
    const attempt = async () => {
      if (isShared) {
        isShared = false;
        const rows = await gathered(statement);
        if (rows !== null) return rows;
      }
      try {
        return isAlone ? await run(driver.query, statement) : await transact("idempotent", (query) => query(statement));
      } catch (error) {
        isAlone &&= failureOf(error) !== "conflict";
        throw error;
      }
    };
    return persist(driver, attempt, { mayRepeat: () => true, mayHaveWritten: () => true });
  };

  return {
    kind: "async",
    query: single,
    transaction: (mode, work) => {
      // Once the end of the transaction was asked for, only the server knows whether it was committed.
      let ending = false;
      const attempt = () => {
        ending = false;
        return transact(mode, async (query) => {
          const result = await work(query);
          ending = true;
          return result;
        });
      };
      return persist(driver, attempt, {
        mayRepeat: () => mode !== "write" || !ending,
        mayHaveWritten: () => mode !== "read" && ending,
      });
    },
    close,
  };
}

type Query = (statement: Statement) => Promise<Row[]>;

/** Says what is known of an attempt whose connection was lost. */
interface Attempted {
  readonly mayRepeat: () => boolean;
  readonly mayHaveWritten: () => boolean;
}

async function persist<T>(
  driver: PostgresDriver,
  attempt: () => Promise<T>,
  { mayRepeat, mayHaveWritten }: Attempted,
): Promise<T> {
  let isUnknown = false;
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      const failure = failureOf(error);
      const isLost = failure === "lost" || failure === "unreached";
      const again = failure === "conflict" || (isLost && driver.reconnects && mayRepeat());
      if (!again || attempts === MAX_ATTEMPTS) throw isUnknown ? afterLost(error) : error;
      isUnknown ||= failure === "lost" && mayHaveWritten();
    }
    // Those that met in a conflict come back at different times.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * 2 ** attempts));
  }
}

function numberValues(sql: string): string {
  let count = 0;
  return sql.replace(/\?/g, () => {
    count += 1;
    return `$${count}`;
  });
}

const isUnstorable = (value: SqlValue) => !isStorable(value);

type Run = (statement: Statement) => Promise<Row[]>;

interface Waiting {
  readonly statement: Statement;
  readonly resolve: (rows: Row[] | null) => void;
  readonly reject: (error: unknown) => void;
}

/** Most of what there is to save is saved by three. More would wait for each other, and leave processes of the server idle. */
const AT_ONCE = 3;

const endOfTurn = globalThis.setImmediate ?? ((work: () => void) => setTimeout(work));

/**
 * Runs what is handed over in one turn of the event loop as one statement, see `Statement.together`: many clients share a round
 * trip and a commit, and nobody waits for a clock. Gives null for what is to run alone. Where the statement of all failed, it has
 * done nothing, and each runs alone, with an end of its own. Rejects where the connection was lost, and nobody knows.
 */
export function gathering(run: Run): (statement: Statement) => Promise<Row[] | null> {
  let waiting: Waiting[] = [];
  const runSome = async (some: readonly Waiting[]): Promise<void> => {
    try {
      const found = some.length > 1 ? await runTogether(some, run) : [];
      for (const [index, { resolve }] of some.entries()) {
        const result = found[index] ?? null;
        resolve(result === null ? null : [{ result }]);
      }
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  };
  const runAll = (): void => {
    const all = waiting;
    waiting = [];
    const calls = Math.ceil(all.length / AT_ONCE);
    const startOf = (call: number) => Math.floor((call * all.length) / calls);
    for (let call = 0; call < calls; call += 1) void runSome(all.slice(startOf(call), startOf(call + 1)));
  };
  return (statement) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) endOfTurn(runAll);
      waiting.push({ statement, resolve, reject });
    });
}

// Gives a result for each, or none: whatever it is that failed shows again where each runs alone.
async function runTogether(some: readonly Waiting[], run: Run): Promise<readonly (string | null)[]> {
  const [{ sql }] = some.map(({ statement }) => statement.together) as [Together];
  const calls = JSON.stringify(some.map(({ statement }) => statement.together?.given));
  try {
    const [row] = await run({ sql, values: [calls], isFrequent: true });
    return JSON.parse((row as { results: string }).results);
  } catch (error) {
    if (failureOf(error) === "lost") throw error;
    return [];
  }
}
