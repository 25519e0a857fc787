import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Tests {
  readonly passed: number;
  readonly failed: readonly string[];
  /** What the tests printed. */
  readonly output: string;
}

/** Runs test files whose work is a row's; `env` says how much of it. */
export function runTests(folder: string, files: readonly string[], env: Record<string, string> = {}): Tests {
  const report = join(folder, "tests.json");
  const args = ["vitest", "run", ...files, "--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { stdout, stderr } = spawnSync("npx", args, {
    cwd: join(import.meta.dirname, "../.."),
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", ...env },
    maxBuffer: 1e9,
  });
  const { numPassedTests, testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
  const failed = testResults.flatMap(({ name, message, assertionResults }) => [
    ...(message ? [`${name}: ${message}`] : []),
    ...assertionResults.filter(({ status }) => status === "failed").map(({ fullName }) => fullName),
  ]);
  return { passed: numPassedTests, failed, output: stdout + stderr };
}

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}
