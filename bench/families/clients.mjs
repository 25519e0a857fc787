import { startBare } from "../clients/bare.mjs";
import { appendInPieces } from "../clients/in-turns.mjs";
import { startServer } from "../postgres-server.mjs";
import { postgres, SessionManager } from "../stemma.mjs";

const SESSIONS = 1_000;
const STEMMA = "stemma";
const BARE = "bare function";
const SIDES = {
  [STEMMA](pool) {
    const manager = SessionManager.create(postgres(pool, { prepare: true }));
    return (id, message) => manager.append(id, message);
  },
  [BARE]: startBare,
};

/** Appends of many clients at once on Postgres, beside a prepared function that only inserts. `npm run bench -- clients` says more. */
export async function measureClients({ quick, clock, report }) {
  const server = await startServer(["-c", "max_connections=300"]);
  try {
    const rounds = clock.rounds;
    const seconds = quick ? 0.5 : 1;
    for (const clients of [16, 64]) {
      const runs = await appendInPieces({
        url: server.url,
        sides: SIDES,
        clients,
        sessions: SESSIONS,
        seconds,
        rounds,
      });
      const ours = runs[STEMMA];
      const work = `Postgres, ${clients} clients over ${SESSIONS.toLocaleString("en")} sessions`;
      report.row({
        work: `${work}: appends per second`,
        against: "a bare insert function",
        target: { atLeast: 0.8 },
        values: ours.map(({ rate }, round) => rate / runs[BARE][round].rate),
      });
      report.row({
        work: `${work}: the time of an append, p99`,
        against: "p50",
        target: { atMost: 4 },
        values: ours.map(({ p50, p99 }) => p99 / p50),
      });
    }
    const only = { [STEMMA]: SIDES[STEMMA] };
    const { [STEMMA]: ours } = await appendInPieces({
      url: server.url,
      sides: only,
      clients: 64,
      sessions: 1,
      seconds,
      rounds,
    });
    report.row({
      work: "Postgres, 64 clients on one session: most appends of a client",
      against: "fewest",
      target: { atMost: 1.5 },
      values: ours.map(({ least, most }) => most / Math.max(1, least)),
    });
  } finally {
    await server.stop();
  }
}
