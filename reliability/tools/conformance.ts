import type { Topic } from "../../packages/conformance/src/topic.js";
import { Workspace } from "../../packages/conformance/src/workspace.js";
import type { StoreTarget } from "../../packages/stemma/src/testing.js";
import { memory } from "../../packages/store/src/memory.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { openPool } from "../../test/postgres/databases.js";
import { postgresTarget } from "../../test/postgres/target.js";
import { openDatabase } from "../../test/store/databases.js";
import { failingClient, fileTarget } from "../../test/store/file-target.js";
import type { Scene } from "./row.js";
import { runTests } from "./vitest.js";

type Before = (statement: string) => void;

export interface Outcome {
  readonly passed: number;
  readonly failed: readonly string[];
  /** Statements that were made to fail; null where nobody counts them. */
  readonly faults: number | null;
}

/** Runs those cases of a topic of the conformance suite whose titles hold `words`, `times` times, on a scene's engine. */
export async function runCases(scene: Scene, topic: Topic, words: string, times = 1): Promise<Outcome> {
  if (scene.engine === "workerd") return runInWorkerd(scene, topic, words, times);
  const pool = scene.engine === "Postgres" ? openPool(await scene.place()) : null;
  let faults = 0;
  const counted = (target: StoreTarget): StoreTarget => ({
    ...target,
    openWithFaults: (before: Before) =>
      (target.openWithFaults as NonNullable<StoreTarget["openWithFaults"]>)((statement) => {
        try {
          before(statement);
        } catch (error) {
          faults += 1;
          throw error;
        }
      }),
  });
  const target = counted(
    pool !== null
      ? postgresTarget("Postgres", () => pool)
      : scene.engine === "memory"
        ? { name: "memory", open: () => memory(), capabilities: { durable: false } }
        : fileTarget("SQLite", scene.folder, openDatabase, (path, before) =>
            before === undefined
              ? sqlite(path, { synchronous: "normal" })
              : sqlite(failingClient(openDatabase(path), before)),
          ),
  );
  const cases = topic.cases.filter(({ title }) => title.includes(words));
  if (cases.length === 0) throw new RangeError(`No case says "${words}".`);
  const failed: string[] = [];
  for (let time = 0; time < times; time += 1) {
    for (const { title, run } of cases) {
      const workspace = await Workspace.open(target);
      try {
        await run(workspace);
      } catch (error) {
        failed.push(`${title}: ${error}`);
      } finally {
        await workspace.close();
      }
    }
  }
  await pool?.close();
  return { passed: cases.length * times - failed.length, failed, faults };
}

// The same cases, on a Durable Object and on an agent's `sql`: a worker runs the suite.
function runInWorkerd({ folder }: Scene, topic: Topic, words: string, times: number): Outcome {
  const named = [topic.name, words].map((text) => text.replace(/[^\w ]/g, "\\$&")).join(".*");
  const runs = Array.from({ length: times }, () =>
    runTests(folder, ["test/platforms/workers/suites.test.ts", "-t", named]),
  );
  if (runs.some(({ passed, failed }) => passed + failed.length === 0)) throw new RangeError(`No case says "${words}".`);
  const passed = runs.reduce((sum, run) => sum + run.passed, 0);
  return { passed, failed: runs.flatMap(({ failed }) => failed), faults: null };
}
