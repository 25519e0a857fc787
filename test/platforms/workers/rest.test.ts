import { join } from "node:path";
import type { Plugin } from "esbuild";
import { afterAll, describe, it } from "vitest";
import type * as rest from "../../workers/rest/worker.js";
import { openWorkerd, reasonToSkip, type WorkerDefinition } from "../../workers/workerd.js";

/** Gives a suite that was written for Node what it has in a worker. */
const inWorker: Plugin = {
  name: "in-worker",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^vitest$/ }, () => ({ path: join(import.meta.dirname, "../../workers/suites/vitest.ts") }));
    onResolve({ filter: /^better-sqlite3$/ }, () => ({ path: "none", namespace: "empty" }));
    onLoad({ filter: /.*/, namespace: "empty" }, () => ({ contents: "export default undefined" }));
  },
};

const definition: WorkerDefinition<typeof rest> = {
  entry: "rest/worker.ts",
  objects: { CaseObject: true, Memory: true },
  plugins: [inWorker],
  node: true,
};

/** What a case needs that is not there. */
const LEFT_OUT = [
  /silent stream/, // other clocks
];
const LEFT_OUT_OF_OBJECT = [
  /^REST and the store/, // a second database
];
const LEFT_OUT_OF_WORKER = [
  // Several users or services in one database:
  /^a key that makes tokens/,
  /^a session of another/,
  /a principal's own$/,
  /for (backend|admin) what may be done/,
  /the blocks of an owner page by page/,
  /of whoever asks, and recalls them/,
  /registers a session once/,
  /by whatever id it has/,
  /makes sessions of the key's user/,
  /a block is a user's, and the session nobody's/,
  // Between a Worker and an object, what breaks off ends: the file is refused as one of no format.
  /^a body that breaks off .*import/,
  // A store, or an option, that the test makes itself:
  /^an import that was cut off/,
  /ends when the server does/,
];

if (reasonToSkip !== null) {
  describe.skip(`REST in workerd (skipped: ${reasonToSkip})`, () => {});
} else {
  const workerd = openWorkerd(definition);
  afterAll(() => workerd.dispose());
  const object = workerd.object("CaseObject", "cases");
  const cases = await object.list();
  describe.each([
    ["on a Durable Object", false, LEFT_OUT_OF_OBJECT],
    ["through a Worker, on the Durable Objects of users", true, LEFT_OUT_OF_WORKER],
  ] as const)("REST %s", (_, isThroughWorker, others) => {
    const isLeftOut = (name: string) => [...LEFT_OUT, ...others].some((pattern) => pattern.test(name));
    for (const [index, { suites, title, skipped }] of cases.entries()) {
      const name = [...suites, title].join(" › ");
      if (isLeftOut(name)) continue;
      if (skipped) it.skip(name, () => {});
      else it(name, () => object.run(index, isThroughWorker));
    }
  });
}
