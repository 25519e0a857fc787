import { reasonOf } from "@stemma/model";
import type { Operation } from "../engine/operation.js";
import type { EngineFault } from "./check-dialect.js";
import type { CheckRun } from "./check-run.js";
import { Findings } from "./findings.js";
import { rebuildIndex } from "./index-check.js";

/** Lets the engine check its own file. */
export async function checkEngine(run: CheckRun): Promise<void> {
  const { integrity } = run.dialect;
  if (integrity === null) return;
  const before = await faultsOf(run, integrity);
  const mends = new Set(before.map(({ mend }) => mend));
  run.isBroken ||= mends.has("nothing");
  let after = before;
  if (before.length > 0 && run.mayRepair) {
    if (mends.has("reindex")) await run.write("", () => run.dialect.reindex()).catch(() => {});
    if (mends.has("search")) await rebuildIndex(run).catch(() => {});
    after = await faultsOf(run, integrity);
    run.isBroken ||= after.some(({ mend }) => mend === "reindex" || mend === "search");
  }
  run.report(findingsOf(before), findingsOf(after));
}

async function faultsOf(run: CheckRun, integrity: () => Operation<EngineFault[]>): Promise<EngineFault[]> {
  try {
    // One statement: others work before it.
    return await run.open.runner.readInSteps(integrity);
  } catch (error) {
    return [{ message: reasonOf(error), mend: "nothing" }];
  }
}

function findingsOf(faults: readonly EngineFault[]): Findings {
  const found = new Findings();
  for (const { message } of faults) found.add("engine", "", null, null, message);
  return found;
}
