import type { Row, Statement, Together } from "../engine/operation.js";
import { failureOf } from "./error.js";

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
  const given = JSON.stringify(some.map(({ statement }) => statement.together?.given));
  try {
    const [row] = await run({ sql, values: [given], isFrequent: true });
    return JSON.parse((row as { results: string }).results);
  } catch (error) {
    if (failureOf(error) === "lost") throw error;
    return [];
  }
}
