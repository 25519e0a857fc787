import { startServer } from "../postgres-server.mjs";
import { race, ratios } from "../race.mjs";
import { agents22Postgres, barePostgres, stemmaPostgres } from "../subjects/postgres.mjs";
import { verify, verifyMessages } from "../verify.mjs";
import { startProxy } from "../wire.mjs";
import { fillWorld, MAIN } from "../world.mjs";

const BATCH = 20;

/** Appends and histories on a Postgres server of this machine; and what goes over the wire, from a proxy that is not timed. */
export async function measurePostgres({ world, scales, clock, turns, report }) {
  const count = scales.medium;
  const server = await startServer();
  const proxy = await startProxy(server.port);
  const subjects = new Map();
  try {
    for (const subject of [barePostgres, stemmaPostgres, agents22Postgres]) {
      const opened = await subject.open(server.port);
      await fillWorld(subject.name, opened, world.conversation(count));
      subjects.set(subject, opened);
    }
    for (const opened of subjects.values()) await opened.analyze();
    await countMessages({ report, proxy, messages: world.batches(2).batch(0) });
    const run = async (measure, turns, contestantOf) => {
      const entries = [...subjects].map(([subject, opened]) => [subject.name, contestantOf(opened, subject)]);
      const times = await race(Object.fromEntries(entries), { ...clock, cpu: false, turns });
      for (const { name } of subjects.keys()) {
        const values = ratios(times[name], times[barePostgres.name]);
        report.compare({ measure: `Postgres: ${measure} ${count.toLocaleString("en")}`, subject: name, values });
      }
      return times;
    };
    const histories = await run("history of", 1, (opened) => ({ run: () => opened.history(MAIN) }));
    const batches = world.batches(BATCH);
    const appends = await run("append at", 2 * turns, (opened, { appendsPerTurn = BATCH }) => ({
      size: appendsPerTurn,
      prepare: (number) => batches.batch(number).slice(0, appendsPerTurn),
      run: (messages) => opened.appendEach(MAIN, messages),
    }));
    const appended = batches.all();
    for (const [{ name, appendsPerTurn = BATCH }, opened] of subjects) {
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
    row("history of", histories, 1.15, "one ordered SELECT");
  } finally {
    for (const opened of subjects.values()) await opened.close();
    await proxy.stop();
    await server.stop();
  }
}

async function countMessages({ report, proxy, messages: [first, second] }) {
  const opened = await stemmaPostgres.open(proxy.port);
  await opened.append("counted", first);
  const append = await proxy.count(() => opened.append("counted", second));
  const history = await proxy.count(() => opened.history("counted"));
  verify((await opened.history("counted")).length === 2, "Postgres", "the counted messages are not there.");
  await opened.close();
  const row = (work, value) =>
    report.row({ work: `Postgres, ${work}`, target: { atMost: 1 }, unit: "", values: [value] });
  row("append: round trips", append.roundTrips);
  row("append: statements", append.statements);
  row("history: round trips", history.roundTrips);
  row("history: statements", history.statements);
}
