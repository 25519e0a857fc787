import { race, ratios } from "../race.mjs";
import { limit } from "../subjects/limit.mjs";
import { stemma, stemmaConfigured } from "../subjects/stemma.mjs";
import { verifyMessages } from "../verify.mjs";
import { MAIN } from "../world.mjs";

const BATCH = 20;

/** One append at a time: against the limit in a long conversation, and how it grows with the conversation. */
export async function measureAppend({ world, scales, clock, turns, report }) {
  const { small, medium, large } = scales;
  const batches = world.batches(BATCH);
  const subjects = {
    limit: await world.open(limit, medium, "append"),
    stemma: await world.open(stemma, medium, "append"),
    configured: await world.open(stemmaConfigured, medium, "append"),
    limitSmall: await world.open(limit, small, "append"),
    stemmaSmall: await world.open(stemma, small, "append"),
    limitLarge: await world.open(limit, large, "append"),
    stemmaLarge: await world.open(stemma, large, "append"),
  };
  const contestant = (opened) => ({
    size: BATCH,
    prepare: batches.batch,
    run: (messages) => opened.appendEach(MAIN, messages),
  });
  const entries = Object.entries(subjects).map(([name, opened]) => [name, contestant(opened)]);
  const times = await race(Object.fromEntries(entries), { ...clock, turns: 4 * turns });
  const appended = batches.all();
  for (const [name, opened] of Object.entries(subjects)) {
    verifyMessages(name, (await opened.history(MAIN)).slice(-appended.length), appended);
  }
  report.row({
    work: "append through `Session`, full-text on: its throughput",
    against: "the limit's",
    target: { atLeast: 0.95 },
    values: ratios(times.limit, times.stemma),
  });
  report.row({
    work: "the same with `compactAfter`, blocks and a cached prompt",
    against: "the limit's",
    target: { atLeast: 0.9 },
    values: ratios(times.limit, times.configured),
  });
  const drift = ratios(times.stemmaLarge, times.stemmaSmall);
  report.row({
    work: `append at ${large.toLocaleString("en")} messages: its time, against that at ${small.toLocaleString("en")}`,
    against: "the limit's own drift",
    target: { atMost: 1.3 },
    values: ratios(drift, ratios(times.limitLarge, times.limitSmall)),
  });
}

/** A thousand messages in one call. */
export async function measureBatch({ world, scales, clock, turns, report }) {
  const batches = world.batches(1000);
  const subjects = {
    limit: await world.open(limit, scales.medium, "batch"),
    stemma: await world.open(stemma, scales.medium, "batch"),
  };
  const contestant = (opened) => ({ prepare: batches.batch, run: (messages) => opened.appendAll(MAIN, messages) });
  const contestants = { limit: contestant(subjects.limit), stemma: contestant(subjects.stemma) };
  const times = await race(contestants, { ...clock, turns: Math.max(4, Math.round(turns / 6)) });
  const appended = batches.all();
  for (const [name, opened] of Object.entries(subjects)) {
    verifyMessages(name, (await opened.history(MAIN)).slice(-appended.length), appended);
  }
  report.row({
    work: "batch of 1,000: its throughput",
    against: "the limit's, in one transaction",
    target: { atLeast: 0.9 },
    values: ratios(times.limit, times.stemma),
  });
}
