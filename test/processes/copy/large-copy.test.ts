import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, expect, it } from "vitest";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { FROM_SOURCES } from "../../../scripts/entry-points.mjs";

const root = join(import.meta.dirname, "../../..");
const folder = mkdtempSync(join(tmpdir(), "stemma-copy-"));
const cache = join(root, "node_modules/.cache");
mkdirSync(cache, { recursive: true });
const programs = mkdtempSync(join(cache, "stemma-"));

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(programs, { recursive: true, force: true });
});

const MESSAGES = 100_000;
const BATCH = 2_000;

it("a session of 100,000 messages is copied in little memory, to a store and to JSONL and back", async () => {
  const path = join(folder, "large.db");
  const store = sqlite(path, { synchronous: "normal" });
  for (let start = 0; start < MESSAGES; start += BATCH) {
    const messages = Array.from({ length: BATCH }, (_, index) => ({
      id: `m${start + index}`,
      role: "user",
      parts: [{ type: "text", text: `message ${start + index} ${"word ".repeat(120)}` }],
    }));
    await store.session("large").append(messages);
  }
  await store.close();
  const program = join(programs, "copier.mjs");
  const entryPoints = [join(import.meta.dirname, "../../copy/copier-process.ts")];
  await build({ entryPoints, outfile: program, ...FROM_SOURCES });
  const ways = [
    [path, join(folder, "copy.db")],
    [path, join(folder, "lines/")],
    [join(folder, "lines/"), join(folder, "back.db")],
  ];
  for (const [from, to] of ways) {
    // All of the session is 65 MB of text: it does not fit.
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--max-old-space-size=48",
      program,
      `${from}`,
      `${to}`,
    ]);
    expect(JSON.parse(stdout)).toEqual({ ok: true, sessions: 1, messages: MESSAGES });
  }
}, 300_000);
