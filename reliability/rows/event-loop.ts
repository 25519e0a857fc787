import { rmSync } from "node:fs";
import { makeFastFolder } from "../../test/helpers/fast-folder.js";
import { EXCEPTIONS } from "../pauses/exceptions.js";
import { type MeasuredCall, measureCalls } from "../pauses/measure-calls.js";
import type { Row } from "../tools/row.js";

/** How long the event loop may stand still, in milliseconds. */
const LIMIT = 50;

/** A call that takes longer than this may take no more than so many times as long as with a tenth of the messages. */
const SHORT = 100;
const LINEAR = 15;

/** Every public call and route, on a file with one long session. */
export const eventLoop: Row = {
  number: 33,
  alone: true,
  title:
    "every public call and route on a session of {size} messages: how long the event loop stands still, the median of three",
  target:
    "≤ 50 ms without the collector of garbage, but for the calls that docs/stores/sqlite.md names; at most linear",
  sizes: { SQLite: [100_000, 0] },
  async run({ size }) {
    const folder = makeFastFolder();
    try {
      const small = await measureCalls({ folder, size: size / 10, runs: 3 });
      const large = await measureCalls({ folder, size, runs: 3 });
      const timeOf = new Map(small.map(({ name, time }) => [name, time]));
      const isSlow = ({ name, pause }: MeasuredCall) => pause > (EXCEPTIONS[name]?.most ?? LIMIT);
      const isSteep = ({ name, time }: MeasuredCall) => time > SHORT && time > LINEAR * (timeOf.get(name) ?? 0);
      const wrong = large.filter((call) => call.failure !== null || isSlow(call) || isSteep(call));
      const others = large.filter(({ name }) => EXCEPTIONS[name] === undefined);
      const longest = Math.max(...others.map(({ pause }) => pause));
      const collected = Math.max(...others.map(({ pauseWithCollector }) => pauseWithCollector));
      const pauses = `${longest.toFixed(0)} ms, with the collector of garbage ${collected.toFixed(0)} ms`;
      const figure = `${wrong.length} of ${large.length} calls miss it; the longest pause is ${pauses}`;
      return { figure, met: wrong.length === 0, details: wrong };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
