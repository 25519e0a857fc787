import { join } from "node:path";
import type { Plugin } from "esbuild";
import { openWorkerd } from "../../test/workers/workerd.js";
import type * as worker from "../worker/row-worker.js";
import { inPlace } from "./in-place.mjs";
import type { Result } from "./row.js";

/** Runs a row in a Durable Object. */
export async function runInWorker(number: number, size: number): Promise<Result> {
  const workerd = openWorkerd<typeof worker>({
    entry: "../../reliability/worker/row-worker.ts",
    objects: { RowObject: true },
    node: true,
    plugins: [ofNode, inPlace],
  });
  try {
    return await workerd.object("RowObject", "row").run(number, size);
  } finally {
    await workerd.dispose();
  }
}

/** What rows import for the other engines, and never call in a worker. */
const ofNode: Plugin = {
  name: "of-node",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^vitest$/ }, () => ({ path: join(import.meta.dirname, "expect.ts") }));
    onResolve({ filter: /^better-sqlite3$/ }, () => ({ path: "none", namespace: "empty" }));
    onLoad({ filter: /.*/, namespace: "empty" }, () => ({ contents: "export default undefined" }));
  },
};
