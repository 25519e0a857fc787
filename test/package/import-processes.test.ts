import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "./manifest.js";

/** The entry points of adapters, and what a program of each framework has loaded before. */
const ADAPTERS: Readonly<Record<string, readonly string[]>> = {
  "openai-agents": ["@openai/agents"],
  langchain: ["@langchain/core/chat_history", "@langchain/core/messages"],
  "ai-sdk": ["ai"],
};

/** Milliseconds of CPU. The aim is 100; an idle machine takes about 200, a busy one several times as long. */
const LIMIT = 1000;

// Inside the project, where the files find their packages.
const cache = join(ROOT, "node_modules/.cache");
let folder = "";

beforeAll(async () => {
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, "stemma-import-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const files = readdirSync(`${ROOT}src`, { recursive: true, encoding: "utf8" });
  // As the package has it: a file for each source.
  const entryPoints = files.filter(
    (file) => /\.ts$/.test(file) && !/\.test\.ts$/.test(file) && !file.startsWith("studio/"),
  );
  await build({ entryPoints: entryPoints.map((file) => `${ROOT}src/${file}`), outdir: folder, format: "esm" });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a cold import", () => {
  it.each(Object.entries(ADAPTERS))("of stemma/%s takes little beside its framework", (name, framework) => {
    const times = [1, 2, 3].map(() => measure(name, framework)).sort((a, b) => a - b);
    console.log(`stemma/${name}: ${times.map((time) => time.toFixed(0)).join(", ")} ms of CPU`);
    expect(times[0]).toBeLessThan(LIMIT);
  });
});

/** Milliseconds of CPU that importing an entry point takes in a new process. */
function measure(name: string, framework: readonly string[]): number {
  const program = `
    for (const each of ${JSON.stringify(framework)}) await import(each);
    const start = process.cpuUsage();
    await import(${JSON.stringify(`./${name}.js`)});
    const { user, system } = process.cpuUsage(start);
    console.log((user + system) / 1000);
  `;
  const path = join(folder, "measure.mjs");
  writeFileSync(path, program);
  return Number(execFileSync(process.execPath, [path], { encoding: "utf8" }));
}
