import { race, ratios } from "../race.mjs";
import { agents22, agents22Session } from "../subjects/agents-22.mjs";
import { agents32, agents32Indexed } from "../subjects/agents-32.mjs";
import { fileBlob, sqliteBlob } from "../subjects/blob.mjs";
import { jsonl } from "../subjects/jsonl.mjs";
import { langgraph } from "../subjects/langgraph.mjs";
import { limit } from "../subjects/limit.mjs";
import { openai } from "../subjects/openai.mjs";
import { stemma, stemmaUnindexed } from "../subjects/stemma.mjs";
import { verify, verifyMessages } from "../verify.mjs";
import { MAIN } from "../world.mjs";

const SUBJECTS = [
  limit,
  stemma,
  stemmaUnindexed,
  agents22,
  agents22Session,
  agents32,
  agents32Indexed,
  langgraph,
  openai,
  jsonl,
  sqliteBlob,
  fileBlob,
];

/** Appends of a turn, for a subject that has no number of its own. */
const BATCH = 50;

/** Every subject at the same work, each against the limit. */
export async function measurePeers({ quick, world, scales, clock, turns, report }) {
  const few = Math.round(turns / 8);
  for (const count of quick ? [scales.medium] : [scales.small, scales.medium]) {
    const at = ` at ${count.toLocaleString("en")}`;
    const subjects = new Map();
    for (const subject of SUBJECTS) subjects.set(subject, await world.open(subject, count, "peers"));
    const run = async (measure, turns, contestantOf) => {
      const entries = [...subjects].map(([subject, opened]) => [subject.name, contestantOf(subject, opened)]);
      const times = await race(Object.fromEntries(entries.filter(([, contestant]) => contestant)), { ...clock, turns });
      for (const { name } of SUBJECTS) {
        if (name in times)
          report.compare({ measure: measure + at, subject: name, values: ratios(times[name], times.limit) });
      }
      return times;
    };

    // What is read back is the same with an index or without, and through the provider or its Session.
    const others = [stemmaUnindexed, agents22Session, agents32Indexed];
    const histories = await run(
      "history",
      2,
      (subject, opened) => !others.includes(subject) && { run: () => opened.history(MAIN) },
    );
    const newest = world.conversation(count).slice(-50);
    for (const [{ name }, opened] of subjects) verifyMessages(name, await opened.last(MAIN, 50), newest);
    await run("newest 50", few, (_subject, opened) => ({ run: () => opened.last(MAIN, 50) }));
    if (count === scales.small) {
      await run("cold open to the newest 50", few, (subject, { path }) => subject.reopen && cold(subject, path));
    }
    const appends = await measureAppends(world, subjects, { turns, few }, run);
    if (count === scales.medium) compareWithAgents({ quick, report, count, appends, histories });
  }
}

async function measureAppends(world, subjects, { turns, few }, run) {
  const batches = world.batches(BATCH);
  const given = new Map([...subjects.keys()].map((subject) => [subject, []]));
  const times = await run("append", turns, (subject, opened) => {
    const { appendsPerTurn: size = BATCH } = subject;
    return {
      size,
      every: size === BATCH ? 1 : Math.ceil(turns / few),
      prepare(number) {
        const messages = batches.batch(number).slice(0, size);
        given.get(subject).push(...messages);
        return messages;
      },
      run: (messages) => opened.appendEach(MAIN, messages),
    };
  });
  for (const [subject, opened] of subjects) {
    const expected = given.get(subject);
    verifyMessages(`${subject.name}, appended`, (await opened.history(MAIN)).slice(-expected.length), expected);
  }
  return times;
}

function cold(subject, path) {
  return {
    run: async () => {
      const opened = await subject.reopen(path);
      verify((await opened.last(MAIN, 50)).length === 50, subject.name, "it did not read 50 messages.");
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
  row("append at", agents32Indexed.name, of(appends, agents32Indexed), 1.3);
  row("append at", "agents@0.32, neither with an index", [appends[agents32.name], appends[stemmaUnindexed.name]]);
  row("history of", agents22.name, of(histories, agents22), 11);
  row("history of", agents32.name, of(histories, agents32), 4);
}
