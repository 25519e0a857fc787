import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { PART_METHODS, SESSION_METHODS, STORE_METHODS } from "../../../packages/store/src/index.js";
import { makeFastFolder } from "../../helpers/fast-folder.js";
import { filePlaces, type Place } from "../../server/crash-places.js";
import { ALL, crashAtStatements } from "../../server/crash-rounds.js";
import { ASKED } from "../../server/crashed-calls.js";
import { CrashingServers, type Statements } from "../../server/crashing-servers.js";
import { servesFile } from "../../server/crashing-stores.js";

const step = ALL ? 1 : 9;
const folder = makeFastFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a call whose server ends at a statement", () => {
  let crashes = 0;
  /** Methods that `stemma/remote` called. */
  const called = new Set<string>();
  afterAll(() => console.log(`${crashes} servers ended at a statement, of ${ASKED.length} calls`));

  const open = ({ tenant }: Place) =>
    new CrashingServers((statements: Statements) => {
      const { serve, end } = servesFile(join(folder, `${tenant}.db`))(statements);
      return {
        end,
        serve: async (request) => {
          const body = await request.clone().text();
          for (const [, name = ""] of body.matchAll(/"call":"([\w.]+)"/g)) called.add(name);
          return serve(request);
        },
      };
    });
  const places = filePlaces(folder);
  for (const [place, each] of ASKED.entries()) {
    it(`is made once by the next server: ${each.title}`, async () => {
      crashes += await crashAtStatements(each, places, open, { first: place % step, step });
    });
  }

  it("is any that is done once", () => {
    // A remote store takes no vectors.
    const { vectors: _, ...parts } = PART_METHODS;
    const all = { session: SESSION_METHODS, store: STORE_METHODS, ...parts };
    const once = Object.entries(all).flatMap(([part, rows]) =>
      Object.entries(rows).flatMap(([name, { isOnce }]) => (isOnce ? [`${part}.${name}`] : [])),
    );
    expect(once.filter((name) => !called.has(name))).toEqual([]);
  });
});
