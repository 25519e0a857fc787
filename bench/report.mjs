import { spread } from "./race.mjs";

/** Collects the rows; `finish` prints them. */
export function createReport() {
  const rows = [];
  return {
    /** A row: `values` of rounds, or one that is exact. */
    row({ work, against, target, values, unit = "×" }) {
      const { median, min, max } = spread(values);
      const met =
        target === undefined ? null : median >= (target.atLeast ?? -Infinity) && median <= (target.atMost ?? Infinity);
      rows.push({ work, against, target, unit, median, min, max, values, met });
      console.log(lineOf(rows.at(-1)));
    },
    progress: (name, milliseconds) => console.log(`  (${name}: ${(milliseconds / 1000).toFixed(1)} s)`),
    finish() {},
  };
}

function lineOf({ work, against, target, unit, median, min, max, met }) {
  const show = (value) => `${value.toFixed(2)}${unit}`;
  const goal = target === undefined ? "–" : target.atLeast ? `≥ ${target.atLeast}${unit}` : `≤ ${target.atMost}${unit}`;
  const verdict = met === null ? "" : met ? "met" : "MISSED";
  return (
    `${verdict.padEnd(7)}${goal.padEnd(9)}${show(median).padEnd(9)}(${show(min)} – ${show(max)})`.padEnd(44) +
    `${work} / ${against}`
  );
}
