import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { observeStore } from "../../../packages/telemetry/src/observe-store.js";
import { describeWoken } from "../../ai-sdk/woken-suite.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-woken-"));
const inMemory = memory();
afterAll(async () => {
  await inMemory.close();
  rmSync(folder, { recursive: true, force: true });
});

// Each process has a store object of its own.
describeWoken("a store in memory", async () => ({
  store: observeStore(inMemory, (_observed, work) => work((part) => part()), { statements: false }),
  close: async () => {},
}));

describeWoken("a SQLite file", async () => {
  const store = sqlite(join(folder, "chats.db"));
  return { store, close: () => store.close() };
});
