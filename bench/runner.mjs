// How times are taken: the tasks take turns in small batches, so that whatever else the machine does meets them
// all alike, and only ratios of times of the same round are reported.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

const wallTime = () => performance.now();

/** Milliseconds that this process has worked. On a busy machine they tell more than the wall clock, though not what is waited for the disk. */
export const cpuTime = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/**
 * Runs each task's `run(work)` in turn, `turns` times in each of `rounds` rounds, in an order that rotates, after a
 * round that does not count; with `every`, in each so many turns once. `prepare(number)` makes the work of a turn, outside
 * the clock; `size` says of how many operations it consists. Gives for each task its milliseconds per operation,
 * round by round.
 */
export async function runInPieces(tasks, { rounds, turns, cpu = false }) {
  const now = cpu ? cpuTime : wallTime;
  const names = Object.keys(tasks);
  const times = Object.fromEntries(names.map((name) => [name, []]));
  let number = 0;
  for (let round = -1; round < rounds; round += 1) {
    collectGarbage();
    const sums = Object.fromEntries(names.map((name) => [name, 0]));
    const runs = { ...sums };
    const last = round < 0 ? Math.ceil(turns / 4) : turns;
    for (let turn = 0; turn < last; turn += 1) {
      for (let place = 0; place < names.length; place += 1) {
        const name = names[(place + turn + round + 1) % names.length];
        const { run, prepare, every = 1 } = tasks[name];
        if (turn % every !== 0) continue;
        const work = prepare?.(number);
        const start = now();
        await run(work);
        sums[name] += now() - start;
        runs[name] += 1;
      }
      number += 1;
    }
    if (round < 0) continue;
    for (const name of names) times[name].push(sums[name] / runs[name] / (tasks[name].size ?? 1));
  }
  return times;
}

/** The ratios of two lists of times, round by round. */
export const ratios = (above, below) => above.map((time, round) => time / below[round]);

/** The median of values with their extremes. */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return {
    median: (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2,
    min: sorted[0],
    max: sorted.at(-1),
  };
}
