import type { Store } from "../../packages/store/src/contract/store.js";
import { memory } from "../../packages/store/src/memory.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { openDatabase } from "../../test/store/databases.js";
import { FuzzRun, type FuzzTarget } from "../../test/store/fuzz-run.js";
import type { Row, Scene } from "../tools/row.js";

/** After so many commands the next run begins with an empty store. */
const PER_RUN = 250;
/** After so many runs, of sessions that were deleted, the next one has a new database. */
const RUNS_PER_DATABASE = 200;

/** Gives each run what it works on. SQLite is opened anew in the middle of a run. */
function targets({ engine, place, open }: Scene): () => Promise<FuzzTarget> {
  if (engine === "SQLite") {
    return async () => {
      const database = openDatabase();
      const finish = async () => {
        database.close();
        return [];
      };
      return { open: () => sqlite(database), finish };
    };
  }
  if (engine === "memory") {
    return async () => {
      const store = memory();
      return { open: () => store, finish: () => store.close().then(() => []) };
    };
  }
  let runs = 0;
  let used: Store | undefined;
  return async () => {
    if (used === undefined || runs % RUNS_PER_DATABASE === 0) {
      await used?.close();
      used = open(await place());
    }
    runs += 1;
    const store = used;
    const { sessions } = await store.sessions.list({});
    for (const { id } of sessions) await store.sessions.delete(id);
    return { open: () => store, finish: async () => [] };
  };
}

const modelRow = (number: number, sizes: Row["sizes"]): Row => ({
  number,
  portable: true,
  title: "{size} random commands beside a model: what each gives, and all reads after every tenth",
  target: "0 divergence",
  sizes,
  async run(scene) {
    const next = targets(scene);
    const diverged: string[] = [];
    let done = 0;
    for (let seed = scene.size; done < scene.size; seed += 1) {
      const run = new FuzzRun(seed, await next(), 0.1);
      try {
        done += await run.operate(Math.min(PER_RUN, scene.size - done), Number.POSITIVE_INFINITY);
      } catch (error) {
        done += PER_RUN;
        diverged.push(`seed ${seed}: ${error}, after ${run.log.slice(-3).join("; ")}`);
      }
    }
    return { figure: `${diverged.length} divergences`, met: diverged.length === 0, details: diverged.slice(0, 3) };
  },
});

export const embeddedModels = modelRow(14, {
  SQLite: [1_000_000, 1_000],
  memory: [1_000_000, 500],
  workerd: [20_000, 0],
});
export const postgresModels = modelRow(15, { Postgres: [100_000, 250] });
