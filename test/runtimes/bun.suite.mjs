// The conformance suite on `bun:sqlite`, run by `npm run test:runtimes`.
import { afterAll, describe, it } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memory } from "../../src/memory.ts";
import { sqlite } from "../../src/sqlite.ts";
import { describeStore } from "../../src/testing.ts";

const folder = mkdtempSync(join(tmpdir(), "stemma-bun-"));
const paths = new WeakMap();
let files = 0;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function open(path) {
  const store = sqlite(path);
  paths.set(store, path);
  return store;
}

describeStore(
  {
    name: "SQLite on Bun",
    open: () => open(join(folder, `${++files}.db`)),
    reopen: (store) => open(paths.get(store)),
  },
  { describe, it },
);

describeStore({ name: "memory on Bun", open: memory }, { describe, it });
