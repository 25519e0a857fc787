import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SCENARIOS } from "../../../packages/conformance/src/faults/fault-scenarios.js";
import { makeFastFolder } from "../../helpers/fast-folder.js";
import { bundle } from "../../runner/bundle.js";
import { ALL, crashAtStatements } from "../../server/crash-rounds.js";
import { KilledServers } from "../../server/killed-servers.js";

/** The commonest; `STEMMA_CRASHES=all` has all of them. */
const COMMON: ReadonlySet<string> = new Set([
  "a plain append",
  "appendAll",
  "an update",
  "a delete in the middle",
  "editMessage",
  "addUsage",
  "an append to a block",
  "an entry that is new",
  "records.set",
  "several writes together",
]);

const scenarios = SCENARIOS.filter(({ title }) => ALL || COMMON.has(title));
const step = ALL ? 1 : 20;
const folder = makeFastFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a call whose server is killed at a statement", () => {
  let kills = 0;
  let servers: KilledServers;
  beforeAll(async () => {
    expect(scenarios.length).toBeGreaterThanOrEqual(COMMON.size);
    servers = new KilledServers(
      join(await bundle("killed-server", ["test/server/killed-server.ts"]), "killed-server.mjs"),
    );
  });
  afterAll(async () => {
    await servers?.stop();
    console.log(`${kills} servers were killed at a statement, of ${scenarios.length} calls`);
  });

  for (const [place, scenario] of scenarios.entries()) {
    it(`is made once by the next server: ${scenario.title}`, { timeout: 1_200_000 }, async () => {
      const open = (path: string) => servers.open(path);
      kills += await crashAtStatements(scenario, folder, open, { first: place % step, step });
    });
  }
});
