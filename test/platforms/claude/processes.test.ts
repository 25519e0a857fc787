import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { claudeSessionStore, memoryTool } from "../../../packages/stemma/src/claude.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { FROM_SOURCES } from "../../../scripts/entry-points.mjs";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "stemma-claude-processes-"));
// Inside the project, where programs find their packages.
const cache = join(import.meta.dirname, "../../.cache");
let programs = "";

beforeAll(async () => {
  mkdirSync(cache, { recursive: true });
  programs = mkdtempSync(join(cache, "stemma-claude-"));
  await build({
    entryPoints: {
      writer: join(import.meta.dirname, "../../claude/writer-process.ts"),
      claude: join(import.meta.dirname, "../../../packages/stemma/src/claude.ts"),
    },
    outdir: programs,
    outExtension: { ".js": ".mjs" },
    splitting: true,
    ...FROM_SOURCES,
  });
});

afterAll(() => {
  for (const each of [folder, programs]) rmSync(each, { recursive: true, force: true });
});

describe("several processes", () => {
  it("append to one transcript and edit one file, and nothing of it is lost", async () => {
    const path = join(folder, "shared.db");
    const store = sqlite(path);
    const tool = memoryTool(Session.create(store), { scope: { key: "team" } });
    await tool.create({ path: "/memories/notes.md", file_text: "" });
    const names = ["a", "b", "c", "d"];
    const count = 25;
    await Promise.all(
      names.map((name) => run(process.execPath, [join(programs, "writer.mjs"), path, name, `${count}`])),
    );

    const all = (await claudeSessionStore(store).load({ projectKey: "p", sessionId: "s" })) ?? [];
    expect(all).toHaveLength(2 * count * names.length);
    const texts = (name: string) => Array.from({ length: count }, (_, index) => `${name}${index}`);
    for (const name of names) {
      const titles = all.map(({ customTitle }) => customTitle).filter((title) => `${title}`.startsWith(name));
      const uuids = all.map(({ uuid }) => uuid).filter((uuid) => uuid?.startsWith(name));
      expect([titles, uuids]).toEqual([texts(name), texts(name)]);
    }
    const file = await store.entries.get({ sessionId: "", label: "memories", scope: { key: "team" } }, "notes.md");
    expect(file?.content.split("\n").filter(Boolean).sort()).toEqual(names.flatMap(texts).sort());
    await store.close();
  });

  it("load stemma/claude fast", async () => {
    const file = join(programs, "claude.mjs");
    const script =
      "const start = performance.now(); await import(process.argv[1]); console.log(performance.now() - start);";
    const times: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script, file]);
      times.push(Number(stdout));
    }
    // It takes about 30 ms where nothing else runs.
    expect(Math.min(...times)).toBeLessThan(1000);
  });
});
