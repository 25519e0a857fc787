import {
  agents22Postgres,
  barePostgres,
  langgraphPostgres,
  preparedPostgres,
  stemmaPostgres,
} from "../candidates/postgres.mjs";
import { fillDataset, MAIN } from "../datasets.mjs";
import { startServer } from "../postgres-server.mjs";
import { ratios, runInPieces } from "../runner.mjs";
import { verifyMessages } from "../verify.mjs";
import { startProxy } from "../wire.mjs";
import { queriesOf } from "./search.mjs";

const BATCH = 20;

const HISTORIES = 6;

/** Appends and histories on a Postgres server of this machine; and what goes over the wire, from a proxy that is not timed. */
export async function measurePostgres({ quick, datasets, scales, clock, turns, report }) {
  const count = scales.medium;
  const server = await startServer();
  const proxy = await startProxy(server.port);
  const candidates = new Map();
  try {
    for (const candidate of [barePostgres, stemmaPostgres, agents22Postgres, langgraphPostgres]) {
      const opened = await candidate.open(server.port);
      await fillDataset(candidate.name, opened, datasets.conversation(count));
      candidates.set(candidate, opened);
    }
    for (const opened of candidates.values()) await opened.analyze();
    const sizes = [stemmaPostgres, barePostgres].map((candidate) => candidates.get(candidate).size());
    const [ours, bare] = await Promise.all(sizes);
    report.row({
      work: `Postgres, size on disk of ${count.toLocaleString("en")} messages`,
      against: "the documented tables'",
      values: [ours / bare],
    });
    await countStatements({ report, proxy, datasets, count });
    const run = async (measure, turns, taskOf) => {
      const entries = [...candidates].map(([candidate, opened]) => [candidate.name, taskOf(opened, candidate)]);
      const times = await runInPieces(Object.fromEntries(entries), { ...clock, cpu: false, turns });
      for (const { name } of candidates.keys()) {
        const values = ratios(times[name], times[barePostgres.name]);
        report.compare({ measure: `Postgres: ${measure} ${count.toLocaleString("en")}`, candidate: name, values });
      }
      return times;
    };
    // A single history of a round may meet a pause of the process; one of the packages takes a second for each.
    const histories = await run("history of", HISTORIES, (opened, { appendsPerTurn }) => ({
      every: appendsPerTurn === undefined ? 1 : HISTORIES,
      run: () => opened.history(MAIN),
    }));
    const batches = datasets.batches(BATCH);
    const appends = await run("append at", 2 * turns, (opened, { appendsPerTurn = BATCH }) => ({
      size: appendsPerTurn,
      prepare: (number) => batches.batch(number).slice(0, appendsPerTurn),
      run: (messages) => opened.appendEach(MAIN, messages),
    }));
    const appended = batches.all();
    for (const [{ name, appendsPerTurn = BATCH }, opened] of candidates) {
      const expected = appended.filter((_, index) => index % BATCH < appendsPerTurn);
      verifyMessages(`${name} on Postgres`, (await opened.history(MAIN)).slice(-expected.length), expected);
    }
    const row = (work, times, atMost, against) =>
      report.row({
        work: `Postgres, ${work} ${count.toLocaleString("en")}: its time`,
        against,
        target: { atMost },
        values: ratios(times[stemmaPostgres.name], times[barePostgres.name]),
      });
    row("append at", appends, 1.35, "a bare insert into the documented table");
    await measurePrepared({ server, datasets, clock, turns, report, count, ours: candidates.get(stemmaPostgres) });
    row("history of", histories, 1.15, "one ordered SELECT");
    if (!quick) await measureOthers({ datasets, clock, turns, report, count, candidates });
  } finally {
    for (const opened of candidates.values()) await opened.close();
    await proxy.stop();
    await server.stop();
  }
}

// The same append beside an insert that is prepared as stemma's statement is.
async function measurePrepared({ server, datasets, clock, turns, report, count, ours }) {
  const bare = await preparedPostgres.open(server.port);
  try {
    await fillDataset(preparedPostgres.name, bare, datasets.conversation(count));
    await bare.analyze();
    const { batch } = datasets.batches(BATCH);
    const task = (opened) => ({ prepare: batch, run: (messages) => opened.appendEach(MAIN, messages) });
    const times = await runInPieces({ ours: task(ours), bare: task(bare) }, { rounds: clock.rounds, turns: 2 * turns });
    const work = `Postgres, append at ${count.toLocaleString("en")}: its time`;
    report.row({ work, against: "the same insert, prepared", values: ratios(times.ours, times.bare) });
  } finally {
    await bare.close();
  }
}

// The rest of what a session does, each against the statement that does it on the documented table.
async function measureOthers({ datasets, clock, turns, report, count, candidates }) {
  const messages = datasets.conversation(count);
  const word = queriesOf(messages)["a rare word"][0];
  const thousands = datasets.batches(1000);
  const fresh = datasets.batches(BATCH);
  const [ours, bare] = [stemmaPostgres, barePostgres].map((candidate) => candidates.get(candidate));
  for (const opened of [ours, bare]) await opened.prepareLeaf();
  const works = {
    "append with compactAfter, blocks and a cached prompt": {
      against: "a bare insert",
      turns: 2 * turns,
      prepare: fresh.batch,
      async run(opened, batch) {
        for (const message of batch) await opened.appendConfigured("configured", message);
      },
    },
    "newest 50": { against: "a SELECT of them", turns, run: (opened) => opened.last(MAIN, 50) },
    "path length": { against: "SELECT count(*)", turns, run: (opened) => opened.length(MAIN) },
    "search for a rare word": { against: "the 20 best by ts_rank", turns, run: (opened) => opened.search(MAIN, word) },
    "batch of 1,000": {
      against: "one INSERT of them",
      turns: 1,
      prepare: thousands.batch,
      run: (opened, batch) => opened.appendAll("batches", batch),
    },
    "delete in the middle": {
      against: "a bare DELETE",
      turns,
      // No two of them are neighbours.
      prepare: (number) => messages[count / 4 + 2 * number].id,
      run: (opened, id) => opened.delete(MAIN, id),
    },
    fork: {
      against: "INSERT … SELECT of the rows",
      turns: 1,
      prepare: (number) => `fork${number}`,
      run: (opened, id) => opened.fork(MAIN, id, messages[count - 1].id),
    },
    "branch switch": {
      against: "an UPDATE of one row",
      turns,
      prepare: (number) => messages[count - 1 - (number % 2)].id,
      run: (opened, id) => opened.setLeaf(MAIN, id),
    },
    "history under a summary of all but 50": {
      against: "a SELECT of the 50",
      turns,
      async begin(opened) {
        await opened.setLeaf(MAIN, messages[count - 1].id);
        await opened.summarise(MAIN, messages[0].id, messages[count - 51].id);
      },
      run: (opened) => opened.summarised(MAIN),
    },
  };
  for (const [work, { against, turns, begin, prepare, run }] of Object.entries(works)) {
    for (const opened of [ours, bare]) await begin?.(opened);
    const task = (opened) => ({ prepare, run: (given) => run(opened, given) });
    // What fills the index of the documented table takes seconds.
    const rounds = turns === 1 ? 5 : clock.rounds;
    const times = await runInPieces({ ours: task(ours), bare: task(bare) }, { rounds, turns });
    const name = `Postgres, ${work} at ${count.toLocaleString("en")}: its time`;
    report.row({ work: name, against, values: ratios(times.ours, times.bare) });
  }
}

// What goes over the wire for each call of a session.
async function countStatements({ report, proxy, datasets, count }) {
  const id = "counted";
  const at = ` at ${count.toLocaleString("en")}`;
  const messages = datasets.conversation(count);
  const fresh = datasets.batches(1);
  const opened = await stemmaPostgres.open(proxy.port);
  const session = opened.session(id);
  await session.appendAll(messages);
  const configured = await opened.configured(id);
  const again = await stemmaPostgres.open(proxy.port);
  const stream = async () => {
    for await (const _message of session.history());
  };
  const calls = {
    "cold open to the newest 50": () => again.last(id, 50),
    append: () => session.appendMessage(fresh.batch(0)[0]),
    "append with compactAfter, blocks and a cached prompt": () => configured.appendMessage(fresh.batch(1)[0]),
    "batch of 1,000": () => session.appendAll(datasets.batches(1000).batch(0)),
    history: () => session.getHistory(),
    "newest 50": () => session.getRecentHistory(0, { minMessages: 50 }),
    "stream of all": stream,
    "path length": () => session.getPathLength(),
    search: () => session.search(queriesOf(messages)["a rare word"][0]),
    fork: () => opened.fork(id, null, messages[count - 1].id),
    "delete in the middle": () => session.deleteMessages([messages[count / 2].id]),
    "add a summary of all but 50": () =>
      session.addCompaction("What was said.", messages[0].id, messages[count - 51].id),
    "history under it": () => session.getHistory(),
    "branch switch": () => session.setActiveLeaf(messages[count / 4].id),
  };
  const counted = {};
  for (const [name, call] of Object.entries(calls)) {
    counted[name] = await proxy.count(call);
    report.wire({ measure: name + at, ...counted[name] });
  }
  await session.setActiveLeaf(fresh.batch(1)[0].id);
  const stored = (await session.getHistory()).slice(-1);
  verifyMessages("Postgres, counted", stored, fresh.batch(1));
  for (const one of [opened, again]) await one.close();
  const row = (work, value) =>
    report.row({ work: `Postgres, ${work}`, target: { atMost: 1 }, unit: "", values: [value] });
  row("append: round trips", counted.append.roundTrips);
  row("append: statements", counted.append.statements);
  row("history: round trips", counted.history.roundTrips);
  row("history: statements", counted.history.statements);
}
