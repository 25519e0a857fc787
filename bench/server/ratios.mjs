// How long requests take, as multiples of those to a handler that does nothing.
import { callsOf } from "./calls.mjs";
import { at, inTurns } from "./in-turns.mjs";

const PAIRS = [
  { work: "append", over: "append", under: "empty append", atMost: 1.3 },
  { work: "append with a user's key", over: "append of a user", under: "empty append" },
  { work: "read of 50 messages", over: "read", under: "empty read", atMost: 1.5 },
  { work: "read of 1 message", over: "read of one", under: "empty read" },
  {
    work: "append by a handler that only calls the store",
    over: "bare append",
    under: "empty append",
    shares: ["median"],
  },
  {
    work: "read of 50 messages by a handler that only calls the store",
    over: "bare read",
    under: "empty read",
    shares: ["median"],
  },
  {
    work: "append at 50,000 messages",
    over: "append at 50,000",
    under: "append",
    against: "that at 1,000",
    atMost: 1.15,
  },
];

/** Rows of ratios, and what an `Idempotency-Key` adds. `sessionOf` gives a session of 1,000 messages for a round. */
export async function measureRatios({ empty, bare, served, keys, sessionOf, large, ofUser, rounds, turns }) {
  const nothing = callsOf({ url: empty.url, key: keys.whole });
  const stemma = callsOf({ url: served.url, key: keys.whole });
  const alone = callsOf({ url: bare.url, key: keys.whole });
  const user = callsOf({ url: served.url, key: keys.user });
  const found = [];
  for (let round = 0; round < rounds; round += 1) {
    const session = sessionOf(round);
    const calls = {
      "empty append": nothing.append(session),
      "empty read": nothing.newest(session, 50),
      append: stemma.append(session),
      "append of a user": user.append(ofUser),
      "append at 50,000": stemma.append(large),
      "append once": stemma.appendOnce(session),
      read: stemma.newest(session, 50),
      "read of one": stemma.newest(session, 1),
      "bare append": alone.append(session),
      "bare read": alone.newest(session, 50),
    };
    found.push(await inTurns(calls, turns));
  }
  const valuesOf = (share, over, under) => found.map((times) => at(share, times[over]) / at(share, times[under]));
  const rows = PAIRS.flatMap(
    ({ work, over, under, against = "an empty handler", atMost, shares = ["median", "p25"] }) =>
      shares.map((share) => ({
        work: `${work}: its time (${share})`,
        against,
        // One of the two is enough for a goal.
        ...(share === "median" && atMost !== undefined && { target: { atMost } }),
        unit: "×",
        values: valuesOf(share, over, under),
      })),
  );
  const added = found.map((times) => at("median", times["append once"]) - at("median", times.append));
  rows.push({
    work: "`Idempotency-Key`: what it adds to an append",
    target: { atMost: 0.1 },
    unit: " ms",
    values: added,
  });
  const each = found.map((times) => at("median", times["empty append"]));
  rows.push({ work: "an empty handler: its time", unit: " ms", values: each });
  return rows;
}
