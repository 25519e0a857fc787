import { baseline } from "../candidates/baseline.mjs";
import { stemma } from "../candidates/stemma.mjs";
import { MAIN } from "../datasets.mjs";
import { ratios, runInPieces } from "../runner.mjs";
import { verify, verifyMessages } from "../verify.mjs";

/** Trees that all have the conversation as their visible path. */
const SHAPES = [
  { title: "linear", candidate: stemma },
  { title: "every tenth regenerated", candidate: withTree("regenerated", regenerated) },
  { title: "two alternating branches", candidate: withTree("alternating", alternating) },
];

/** The whole history, against an ordered SELECT of just these messages and JSON.parse. */
export async function measureHistory({ quick, datasets, scales, clock, turns, report }) {
  for (const count of [scales.medium, scales.large]) {
    const bare = await datasets.open(baseline, count);
    for (const { title, candidate } of quick && count > scales.medium ? SHAPES.slice(0, 1) : SHAPES) {
      const opened = await datasets.open(candidate, count);
      const tasks = {
        baseline: { run: () => bare.history(MAIN) },
        stemma: { run: () => opened.history(MAIN) },
      };
      const times = await runInPieces(tasks, { ...clock, turns: Math.ceil((turns * 2000) / count) });
      report.row({
        work: `history of ${count.toLocaleString("en")}, ${title}: its time`,
        against: "raw SELECT + JSON.parse",
        target: { atMost: count === 100_000 ? 0.75 : 1 },
        values: ratios(times.stemma, times.baseline),
      });
    }
  }
}

/** The newest 50 messages: of long against short conversations, and from a closed file. */
export async function measureRecent({ datasets, scales, clock, turns, report }) {
  const { small, large } = scales;
  const long = await datasets.open(stemma, large);
  const short = await datasets.open(stemma, small);
  const bare = await datasets.open(baseline, large);
  const newest = datasets.conversation(large).slice(-50);
  for (const opened of [long, bare]) verifyMessages("the newest 50", await opened.last(MAIN, 50), newest);
  const task = (opened) => ({
    size: 20,
    run: async () => {
      for (let time = 0; time < 20; time += 1) await opened.last(MAIN, 50);
    },
  });
  const tasks = { long: task(long), short: task(short), bare: task(bare) };
  const times = await runInPieces(tasks, { ...clock, turns });
  report.row({
    work: `the newest 50 of ${large.toLocaleString("en")}: its time`,
    against: `that of ${small.toLocaleString("en")}`,
    target: { atMost: 1.3 },
    values: ratios(times.long, times.short),
  });
  report.row({
    work: `the newest 50 of ${large.toLocaleString("en")}: its time`,
    against: "a bare SELECT",
    values: ratios(times.long, times.bare),
  });
  const cold = (candidate, { path }) => ({
    run: async () => {
      const opened = await candidate.reopen(path);
      verify((await opened.last(MAIN, 50)).length === 50, candidate.name, "it did not read 50 messages.");
      await opened.close();
    },
  });
  const opens = await runInPieces(
    { stemma: cold(stemma, long), bare: cold(baseline, bare) },
    { ...clock, turns: 4 * turns },
  );
  report.row({
    work: `cold open of ${large.toLocaleString("en")} to the newest 50: its time`,
    against: "open and a bare SELECT",
    target: { atMost: 2 },
    values: ratios(opens.stemma, opens.bare),
  });
}

function withTree(name, build) {
  return {
    name: `stemma ${name}`,
    async open(folder) {
      const opened = await stemma.open(folder);
      const { fill } = opened;
      const fillTree = (session, messages) => build(session, messages);
      return Object.assign(opened, {
        fill: (sessionId, messages) =>
          sessionId === MAIN ? fillTree(opened.session(sessionId), messages) : fill(sessionId, messages),
      });
    },
  };
}

// Every tenth message is written twice: the first time with another id, and then again below the same parent.
async function regenerated(session, messages) {
  let parent = null;
  for (let start = 0; start < messages.length; start += 10) {
    const ten = messages.slice(start, start + 10);
    const last = ten.at(-1);
    await session.appendAll([...ten.slice(0, -1), { ...last, id: `${last.id}-first` }], parent);
    await session.appendMessage(last, ten.at(-2).id);
    parent = last.id;
  }
}

// Two conversations from the same opening, which go on in turns: a question and its answer here, then there.
async function alternating(session, messages) {
  const [opening, ...rest] = messages;
  await session.appendMessage(opening, null);
  let here = opening.id;
  let there = opening.id;
  for (let start = 0; start < rest.length; start += 2) {
    const turn = rest.slice(start, start + 2);
    const other = turn.map((message) => ({ ...message, id: `${message.id}-there` }));
    await session.appendAll(other, there);
    await session.appendAll(turn, here);
    there = other.at(-1).id;
    here = turn.at(-1).id;
  }
}
