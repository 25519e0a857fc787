// Calls that take turns one by one, so that whatever else the machine does meets them all alike.

/**
 * Makes each call once in each of `turns`, in an order that rotates, after a tenth of them that does not count. Gives for each
 * call its milliseconds, sorted.
 */
export async function inTurns(calls, turns) {
  const names = Object.keys(calls);
  const times = Object.fromEntries(names.map((name) => [name, []]));
  for (let turn = -Math.ceil(turns / 10); turn < turns; turn += 1) {
    for (let place = 0; place < names.length; place += 1) {
      const name = names[(place + turn + turns) % names.length];
      const start = performance.now();
      await calls[name]();
      if (turn >= 0) times[name].push(performance.now() - start);
    }
  }
  for (const list of Object.values(times)) list.sort((a, b) => a - b);
  return times;
}

const SHARES = { median: 0.5, p25: 0.25 };

/** A quantile of a sorted list. */
export const at = (share, list) => list[Math.floor(SHARES[share] * list.length)];
