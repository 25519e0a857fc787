// The program of the docs that tests a store of one's own, as the page shows it.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, expect, it } from "vitest";
import { FROM_SOURCES } from "../../scripts/entry-points.mjs";
import { ROOT } from "../package/manifest.js";
import { snippetsOf } from "./snippets.js";

const folder = mkdtempSync(join(ROOT, "test/docs/.generated-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const found = snippetsOf("docs/stores/writing-a-store.md").find(({ code }) => code.includes("describeStore("));
const program = found?.code ?? "";

// With STEMMA_CONFORMANCE=all, test/engines/runner/conformance.test.ts meets the suite with this store under vitest, too.
it("the program of the docs runs with node:test, in a process where nothing else goes on", async () => {
  const outfile = join(folder, "conformance.mjs");
  await build({
    stdin: { contents: program.replace('from "vitest"', 'from "node:test"'), resolveDir: folder, loader: "ts" },
    ...FROM_SOURCES,
    outfile,
  });
  // A process that a test runner starts for its files reports otherwise.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout, code } = await outputOf(["--test-reporter=tap", outfile], env);
  expect(stdout.split("\n").filter((line) => /^ *not ok/.test(line))).toEqual([]);
  expect(code).toBe(0);
  expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(400);
  expect(stdout).toMatch(/# SKIP the store takes no embedder/);
});

function outputOf(args: string[], env: NodeJS.ProcessEnv): Promise<{ stdout: string; code: unknown }> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, maxBuffer: 2 ** 26 }, (error, stdout) => {
      resolve({ stdout, code: error === null ? 0 : error.code });
    });
  });
}
