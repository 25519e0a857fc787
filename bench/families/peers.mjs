import { agents22, agents22Session } from "../candidates/agents-22.mjs";
import { agents32, agents32Indexed } from "../candidates/agents-32.mjs";
import { baseline } from "../candidates/baseline.mjs";
import { fileBlob, sqliteBlob } from "../candidates/blob.mjs";
import { jsonl } from "../candidates/jsonl.mjs";
import { langgraph } from "../candidates/langgraph.mjs";
import { openai, openaiFile } from "../candidates/openai.mjs";
import { stemma, stemmaUnindexed } from "../candidates/stemma.mjs";
import { MAIN } from "../datasets.mjs";
import { ratios, runInPieces } from "../runner.mjs";
import { verify, verifyMessages } from "../verify.mjs";

const CANDIDATES = [
  baseline,
  stemma,
  stemmaUnindexed,
  agents22,
  agents22Session,
  agents32,
  agents32Indexed,
  langgraph,
  openai,
  openaiFile,
  jsonl,
  sqliteBlob,
  fileBlob,
];

/** Appends of a turn, for a candidate that has no number of its own. */
const BATCH = 50;

/** Every candidate at the same work, each against the baseline. */
export async function measurePeers({ quick, datasets, scales, clock, turns, report }) {
  const few = Math.round(turns / 8);
  for (const count of quick ? [scales.medium] : [scales.small, scales.medium]) {
    const at = ` at ${count.toLocaleString("en")}`;
    const candidates = new Map();
    for (const candidate of CANDIDATES) candidates.set(candidate, await datasets.open(candidate, count, "peers"));
    const run = async (measure, turns, taskOf) => {
      const entries = [...candidates].map(([candidate, opened]) => [candidate.name, taskOf(candidate, opened)]);
      const times = await runInPieces(Object.fromEntries(entries.filter(([, task]) => task)), { ...clock, turns });
      for (const { name } of CANDIDATES) {
        if (name in times)
          report.compare({ measure: measure + at, candidate: name, values: ratios(times[name], times.baseline) });
      }
      return times;
    };

    // What is read back is the same with an index or without, and through the provider or its Session.
    const others = [stemmaUnindexed, agents22Session, agents32Indexed];
    const histories = await run(
      "history",
      2,
      (candidate, opened) => !others.includes(candidate) && { run: () => opened.history(MAIN) },
    );
    const newest = datasets.conversation(count).slice(-50);
    for (const [{ name }, opened] of candidates) verifyMessages(name, await opened.last(MAIN, 50), newest);
    await run("newest 50", few, (_subject, opened) => ({ run: () => opened.last(MAIN, 50) }));
    if (count === scales.small) {
      await run("cold open to the newest 50", few, (candidate, { path }) => candidate.reopen && cold(candidate, path));
    }
    const appends = await measureAppends(datasets, candidates, { turns, few }, run);
    if (count === scales.medium) compareWithAgents({ quick, report, count, appends, histories });
  }
}

async function measureAppends(datasets, candidates, { turns, few }, run) {
  const batches = datasets.batches(BATCH);
  const given = new Map([...candidates.keys()].map((candidate) => [candidate, []]));
  const times = await run("append", turns, (candidate, opened) => {
    const { appendsPerTurn: size = BATCH } = candidate;
    return {
      size,
      every: size === BATCH ? 1 : Math.ceil(turns / few),
      prepare(number) {
        const messages = batches.batch(number).slice(0, size);
        given.get(candidate).push(...messages);
        return messages;
      },
      run: (messages) => opened.appendEach(MAIN, messages),
    };
  });
  for (const [candidate, opened] of candidates) {
    const expected = given.get(candidate);
    verifyMessages(`${candidate.name}, appended`, (await opened.history(MAIN)).slice(-expected.length), expected);
  }
  return times;
}

function cold(candidate, path) {
  return {
    run: async () => {
      const opened = await candidate.reopen(path);
      verify((await opened.last(MAIN, 50)).length === 50, candidate.name, "it did not read 50 messages.");
      await opened.close();
    },
  };
}

function compareWithAgents({ quick, report, count, appends, histories }) {
  const number = count.toLocaleString("en");
  const row = (work, against, [slower, faster], atLeast) => {
    // Theirs costs more the longer a conversation is, and the targets are those of long ones.
    const target = quick || atLeast === undefined ? undefined : { atLeast };
    report.row({ work: `${work} ${number}: how much faster`, against, target, values: ratios(slower, faster) });
  };
  const of = (times, { name }) => [times[name], times[stemma.name]];
  row("append at", agents22.name, of(appends, agents22), 11);
  row("append at", agents22Session.name, of(appends, agents22Session), 11);
  row("append at", agents32Indexed.name, of(appends, agents32Indexed), 1.5);
  row("append at", "agents@0.32, neither with an index", [appends[agents32.name], appends[stemmaUnindexed.name]]);
  row("history of", agents22.name, of(histories, agents22), 11);
  row("history of", agents32.name, of(histories, agents32), 4);
}
