import { join } from "node:path";
import type { Plugin } from "esbuild";
import { afterAll, describe, it } from "vitest";
import { ALL } from "../../describe-store.js";
import type * as suites from "../../workers/suites/worker.js";
import { openWorkerd, reasonToSkip, type WorkerDefinition } from "../../workers/workerd.js";

const here = (file: string) => join(import.meta.dirname, "../../workers/suites", file);

/** Gives suites that were written for Node what they have in a worker. */
const inWorker: Plugin = {
  name: "in-worker",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^vitest$/ }, () => ({ path: here("vitest.ts") }));
    onResolve({ filter: /\/host\.js$/ }, ({ importer }) =>
      importer.includes("/documents/") ? { path: here("host.ts") } : undefined,
    );
    onResolve({ filter: /^better-sqlite3$/ }, () => ({ path: "none", namespace: "empty" }));
    onLoad({ filter: /.*/, namespace: "empty" }, () => ({ contents: "export default undefined" }));
  },
};

const REDACTED = "the Durable Object with redact store";

const definition: WorkerDefinition<typeof suites> = {
  entry: "suites/worker.ts",
  objects: { CaseObject: true },
  buckets: ["BUCKET"],
  plugins: [inWorker],
};

if (reasonToSkip !== null) {
  describe.skip(`in workerd (skipped: ${reasonToSkip})`, () => {});
} else {
  const workerd = openWorkerd(definition);
  afterAll(() => workerd.dispose());
  const object = workerd.object("CaseObject", "cases");
  const cases = await object.list();
  describe("in workerd", () => {
    for (const [index, { suites, title, skipped }] of cases.entries()) {
      const name = [...suites, title].join(" › ");
      // A redact that changes nothing meets the suite on SQLite files, by the same code.
      if (skipped || (!ALL && suites[0] === REDACTED)) it.skip(name, () => {});
      else it(name, () => object.run(index));
    }
  });
}
