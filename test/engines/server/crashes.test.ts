import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { makeFastFolder } from "../../helpers/fast-folder.js";
import { filePlaces } from "../../server/crash-places.js";
import { ALL, crashAtStatements } from "../../server/crash-rounds.js";
import { ASKED } from "../../server/crashed-calls.js";
import { CrashingServers } from "../../server/crashing-servers.js";
import { servesFile } from "../../server/crashing-stores.js";

const step = ALL ? 1 : 9;
const folder = makeFastFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a call whose server ends at a statement", () => {
  let crashes = 0;
  afterAll(() => console.log(`${crashes} servers ended at a statement, of ${ASKED.length} calls`));

  for (const [place, each] of ASKED.entries()) {
    it(`is made once by the next server: ${each.title}`, async () => {
      const open = ({ tenant }: { readonly tenant: string }) =>
        new CrashingServers(servesFile(join(folder, `${tenant}.db`)));
      crashes += await crashAtStatements(each, filePlaces(folder), open, { first: place % step, step });
    });
  }
});
