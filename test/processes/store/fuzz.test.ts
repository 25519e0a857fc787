import { describe, expect, it } from "vitest";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { openDatabase } from "../../store/databases.js";
import { FuzzRun, type FuzzTarget } from "../../store/fuzz-run.js";

// Random operations on several sessions of one database, compared with the model after each. A failure prints the seed and the
// last operations. More of it:
// STEMMA_FUZZ_SECONDS=600 STEMMA_FUZZ_SEED=1 npx vitest run test/processes/store/fuzz.test.ts

const SECONDS = Number(process.env.STEMMA_FUZZ_SECONDS ?? 8);
const FIRST_SEED = Number(process.env.STEMMA_FUZZ_SEED ?? Math.floor(Math.random() * 1e9));
const OPERATIONS_PER_RUN = 250;

function targetOf(): FuzzTarget {
  const database = openDatabase();
  return {
    open: () => sqlite(database),
    async finish() {
      expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
      database.close();
      return [];
    },
  };
}

describe("random operations", () => {
  it(
    `leave every session as the model says (${SECONDS} s from seed ${FIRST_SEED})`,
    async () => {
      const end = Date.now() + SECONDS * 1000;
      let operations = 0;
      for (let seed = FIRST_SEED; operations === 0 || Date.now() < end; seed += 1) {
        const run = new FuzzRun(seed, targetOf());
        try {
          operations += await run.operate(OPERATIONS_PER_RUN, end);
        } catch (error) {
          throw new Error(`seed ${seed}, after:\n  ${run.log.slice(-40).join("\n  ")}`, { cause: error });
        }
      }
      console.log(`fuzz: ${operations} operations from seed ${FIRST_SEED}`);
    },
    (SECONDS + 60) * 1000,
  );
});
