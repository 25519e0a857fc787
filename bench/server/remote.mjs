// How long calls of `stemma/remote` take, as multiples of requests to a handler that does nothing, and of calls of a store.
import { remote } from "../../packages/stemma/dist/remote.js";
import { callsOf, messageOf } from "./calls.mjs";
import { at, inTurns } from "./in-turns.mjs";

/** Calls of one session that are made at once. */
const BURST = 256;
/** Requests at once to the handler that does nothing. */
const AT_ONCE = 32;
const BATCH = 100;

let number = 0;
const next = () => messageOf(`r${++number}`);

export async function measureRemote({ store, empty, served, key, sessionOf, rounds, turns }) {
  const far = remote({ baseUrl: served.url, apiKey: key });
  const nothing = callsOf({ url: empty.url, key });
  const found = [];
  for (let round = 0; round < rounds; round += 1) {
    const id = sessionOf(round);
    const session = far.session(id);
    const local = store.session(id);
    const batch = () => Array.from({ length: BATCH }, next);
    const emptyAppend = nothing.append(id);
    const calls = {
      empty: emptyAppend,
      append: () => session.append([next()]),
      read: () => session.recent(0, { minMessages: 50 }),
      "empty read": nothing.newest(id, 50),
      batch: () => session.append(batch()),
      "local batch": () => local.append(batch()),
    };
    const times = await inTurns(calls, turns);
    const bursts = {
      burst: () => Promise.all(Array.from({ length: BURST }, () => session.append([next()]))),
      // As many requests, so many at once.
      "empty burst": () =>
        Promise.all(
          Array.from({ length: AT_ONCE }, async () => {
            for (let each = 0; each < BURST / AT_ONCE; each += 1) await emptyAppend();
          }),
        ),
    };
    found.push({ ...times, ...(await inTurns(bursts, Math.ceil(turns / 20))) });
  }
  await far.close();
  const ratio = (share, over, under) => found.map((times) => at(share, times[over]) / at(share, times[under]));
  return [
    {
      work: "append by stemma/remote: its time (median)",
      target: { atMost: 1.5 },
      values: ratio("median", "append", "empty"),
    },
    { work: "append by stemma/remote: its time (p25)", values: ratio("p25", "append", "empty") },
    {
      work: "read of 50 messages by stemma/remote: its time (median)",
      target: { atMost: 1.5 },
      values: ratio("median", "read", "empty read"),
    },
    {
      work: `${BURST} appends of one session, unawaited: calls a second`,
      against: `${AT_ONCE} requests at once to an empty handler`,
      target: { atLeast: 2 },
      values: ratio("median", "empty burst", "burst"),
    },
    {
      work: `append of ${BATCH} messages by stemma/remote: messages a second`,
      against: "the store without a server",
      target: { atLeast: 0.6 },
      values: ratio("median", "local batch", "batch"),
    },
  ].map((row) => ({ against: "an empty handler", unit: "×", ...row }));
}
