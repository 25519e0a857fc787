import { baseline } from "../candidates/baseline.mjs";
import { stemma, stemmaConfigured } from "../candidates/stemma.mjs";
import { MAIN } from "../datasets.mjs";
import { ratios, runInPieces } from "../runner.mjs";
import { verifyMessages } from "../verify.mjs";

const BATCH = 20;

/** One append at a time: against the baseline in a long conversation, and how it grows with the conversation. */
export async function measureAppend({ datasets, scales, clock, turns, report }) {
  const { small, medium, large } = scales;
  const batches = datasets.batches(BATCH);
  const candidates = {
    baseline: await datasets.open(baseline, medium, "append"),
    stemma: await datasets.open(stemma, medium, "append"),
    configured: await datasets.open(stemmaConfigured, medium, "append"),
    baselineSmall: await datasets.open(baseline, small, "append"),
    stemmaSmall: await datasets.open(stemma, small, "append"),
    baselineLarge: await datasets.open(baseline, large, "append"),
    stemmaLarge: await datasets.open(stemma, large, "append"),
  };
  const task = (opened) => ({
    size: BATCH,
    prepare: batches.batch,
    run: (messages) => opened.appendEach(MAIN, messages),
  });
  const entries = Object.entries(candidates).map(([name, opened]) => [name, task(opened)]);
  const times = await runInPieces(Object.fromEntries(entries), { ...clock, turns: 4 * turns });
  const appended = batches.all();
  for (const [name, opened] of Object.entries(candidates)) {
    verifyMessages(name, (await opened.history(MAIN)).slice(-appended.length), appended);
  }
  report.row({
    work: "append through `Session`, full-text on: its throughput",
    against: "the baseline's",
    target: { atLeast: 0.95 },
    values: ratios(times.baseline, times.stemma),
  });
  report.row({
    work: "the same with `compactAfter`, blocks and a cached prompt",
    against: "the baseline's",
    target: { atLeast: 0.9 },
    values: ratios(times.baseline, times.configured),
  });
  const drift = ratios(times.stemmaLarge, times.stemmaSmall);
  report.row({
    work: `append at ${large.toLocaleString("en")} messages: its time, against that at ${small.toLocaleString("en")}`,
    against: "the baseline's own drift",
    target: { atMost: 1.3 },
    values: ratios(drift, ratios(times.baselineLarge, times.baselineSmall)),
  });
}

/** A thousand messages in one call. */
export async function measureBatch({ datasets, scales, clock, turns, report }) {
  const batches = datasets.batches(1000);
  const candidates = {
    baseline: await datasets.open(baseline, scales.medium, "batch"),
    stemma: await datasets.open(stemma, scales.medium, "batch"),
  };
  const task = (opened) => ({ prepare: batches.batch, run: (messages) => opened.appendAll(MAIN, messages) });
  const tasks = { baseline: task(candidates.baseline), stemma: task(candidates.stemma) };
  const times = await runInPieces(tasks, { ...clock, turns: Math.max(4, Math.round(turns / 6)) });
  const appended = batches.all();
  for (const [name, opened] of Object.entries(candidates)) {
    verifyMessages(name, (await opened.history(MAIN)).slice(-appended.length), appended);
  }
  report.row({
    work: "batch of 1,000: its throughput",
    against: "the baseline's, in one transaction",
    target: { atLeast: 0.95 },
    values: ratios(times.baseline, times.stemma),
  });
}
