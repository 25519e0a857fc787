// npm run bench -- [--quick] [--only append,history] [--cpu] [--out <folder> | --publish]
//
// Measures stemma against a baseline of hand-written SQL and against its peers, on this machine, in this one process. Prints
// the table, and writes it as JSON with a plot. docs/background/benchmark.md says how.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildStemma, installPeers } from "./prepare.mjs";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    // The process's CPU time in place of the wall clock, for a machine that others use too.
    cpu: { type: "boolean", default: false },
    out: { type: "string" },
    // Puts the results where README and docs show them.
    publish: { type: "boolean", default: false },
  },
});
const { quick } = values;
installPeers();
await buildStemma();

// Loaded late: they need what was installed and built.
const { FAMILIES } = await import("./families/index.mjs");
const { cpuTime } = await import("./runner.mjs");
const { createReport } = await import("./report.mjs");
const { createDatasets } = await import("./datasets.mjs");

const chosen = values.only?.split(",") ?? Object.keys(FAMILIES);
for (const name of chosen) {
  if (!(name in FAMILIES)) throw new Error(`--only ${name}: there is ${Object.keys(FAMILIES).join(", ")}.`);
}

const folder = mkdtempSync(join(tmpdir(), "stemma-bench-"));
const datasets = createDatasets(folder);
const command = ["npm run bench", ...(process.argv.length > 2 ? ["--", ...process.argv.slice(2)] : [])].join(" ");
const report = createReport({ run: { command, quick, cpu: values.cpu }, out: values.out, publish: values.publish });
const context = {
  quick,
  folder,
  datasets,
  report,
  scales: quick ? { small: 1_000, medium: 5_000, large: 10_000 } : { small: 1_000, medium: 10_000, large: 100_000 },
  clock: { rounds: quick ? 5 : 7, cpu: values.cpu },
  turns: quick ? 10 : 24,
};
try {
  for (const [name, measure] of Object.entries(FAMILIES)) {
    if (!chosen.includes(name)) continue;
    const start = performance.now();
    const cpuStart = cpuTime();
    await measure(context);
    report.progress(name, (performance.now() - start) / 1000, (cpuTime() - cpuStart) / 1000);
  }
  report.finish();
} finally {
  await datasets.close();
  rmSync(folder, { recursive: true, force: true });
}
