import type { Reporter, TestCase, TestModule } from "vitest/node";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** Why cases did not run, and how many. */
  readonly reasons: Map<string, number>;
}

/** Prints, at the end of a run, how many cases of the conformance suite each store passed, failed and skipped. */
export default class ConformanceTable implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const stores = new Map<string, Counts>();
    for (const module of modules) for (const test of module.children.allTests()) count(stores, test);
    if (stores.size === 0) return;
    const rows = [...stores].map(([name, { passed, failed, skipped }]) => [name, passed, failed, skipped].map(String));
    const table = [["Conformance of", "passed", "failed", "skipped"], ...rows];
    const width = Math.max(...table.map(([name = ""]) => name.length));
    const lines = table.map(([name = "", ...counts]) =>
      [name.padEnd(width), ...counts.map((each) => each.padStart(8))].join(""),
    );
    const reasons = [...stores].flatMap(([name, counts]) =>
      [...counts.reasons].map(([reason, number]) => `${name}: ${number} skipped: ${reason}`),
    );
    console.log(["", ...lines, ...reasons, ""].map((line) => `  ${line}`).join("\n"));
  }
}

function count(stores: Map<string, Counts>, test: TestCase): void {
  // Cases that run in workerd have the names of their suites in their own.
  const names = test.fullName.split(/ [>›] /);
  const name = names.flatMap((each) => /^the (.+) store$/.exec(each)?.[1] ?? [])[0];
  if (name === undefined) return;
  const counts = stores.get(name) ?? { passed: 0, failed: 0, skipped: 0, reasons: new Map() };
  stores.set(name, counts);
  const result = test.result();
  const { state } = result;
  if (state === "passed" || state === "failed") counts[state] += 1;
  else {
    counts.skipped += 1;
    const reason =
      /\(skipped: (.+)\)$/.exec(names.at(-1) ?? "")?.[1] ?? /\((.+ is not .+)\)$/.exec(names[0] ?? "")?.[1];
    const why =
      reason ?? (result.state === "skipped" ? result.note : undefined) ?? "not asked for, or not to be had here";
    counts.reasons.set(why, (counts.reasons.get(why) ?? 0) + 1);
  }
}
