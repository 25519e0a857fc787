import { queriesOf } from "../families/search.mjs";

/** The two sides of a setting. */
export const SIDES = ["stemma", "bare"];

/** What is measured: `run(side, given)` is timed, on what `prepare(number)` gives; so many `turns`. */
export function callsOf(datasets, count) {
  const fresh = datasets.batches(1);
  const word = queriesOf(datasets.conversation(count))["a rare word"][0];
  return [
    { title: `history of ${count.toLocaleString("en")}`, turns: 20, run: (side) => side.history() },
    { title: "the newest 50", turns: 150, run: (side) => side.last(50) },
    { title: "search for a rare word", turns: 150, run: (side) => side.search(word) },
    { title: "`prepareTurn`", turns: 150, run: (side) => side.prepareTurn() },
    {
      title: "append",
      turns: 200,
      prepare: (number) => fresh.batch(number)[0],
      run: (side, message) => side.append(message),
    },
  ];
}

/** Milliseconds of each single call, by setting and side. All take turns, in an order that rotates; the first tenth does not count. */
export async function timesInPieces(settings, { prepare, run }, turns) {
  const tasks = settings.flatMap((setting, index) => SIDES.map((side) => ({ index, side, target: setting[side] })));
  const times = settings.map(() => Object.fromEntries(SIDES.map((side) => [side, []])));
  const warm = Math.ceil(turns / 10);
  for (let turn = 0; turn < warm + turns; turn += 1) {
    const given = prepare?.(turn);
    for (let place = 0; place < tasks.length; place += 1) {
      const { index, side, target } = tasks[(place + turn) % tasks.length];
      const start = performance.now();
      await run(target, given);
      if (turn >= warm) times[index][side].push(performance.now() - start);
    }
  }
  return times;
}
