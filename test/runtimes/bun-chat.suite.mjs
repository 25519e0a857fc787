// The chat handler on Bun, run by `node scripts/runtimes.mjs`.
import { afterAll, describe, expect, it } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { describeHandler } from "../ai-sdk/handler-suite.ts";

const folder = mkdtempSync(join(tmpdir(), "stemma-bun-"));
const store = sqlite(join(folder, "chats.db"));

afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

describeHandler("SQLite on Bun", () => store, { describe, it, expect });
