import { rmSync } from "node:fs";
import { afterAll, describe, it } from "vitest";
import { SCENARIOS } from "../../../packages/conformance/src/faults/fault-scenarios.js";
import { makeFastFolder } from "../../helpers/fast-folder.js";
import { ALL, crashAtStatements } from "../../server/crash-rounds.js";
import { CrashingServers } from "../../server/crashing-servers.js";

const step = ALL ? 1 : 9;
const folder = makeFastFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a call whose server ends at a statement", () => {
  let crashes = 0;
  afterAll(() => console.log(`${crashes} servers ended at a statement, of ${SCENARIOS.length} calls`));

  for (const [place, scenario] of SCENARIOS.entries()) {
    it(`is made once by the next server: ${scenario.title}`, async () => {
      const open = (path: string) => new CrashingServers(path);
      crashes += await crashAtStatements(scenario, folder, open, { first: place % step, step });
    });
  }
});
