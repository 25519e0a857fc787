import { readFileSync } from "node:fs";

const CURVES = new URL("../../docs/background/scaling/curves.json", import.meta.url);
const [BASE, LARGEST] = [10_000, 10_000_000];

/**
 * What calls take in a store of ten million messages, as `npm run bench -- scale` measured and published it: to fill one takes longer
 * than all else here. The range is from the quartiles of both.
 */
export function measureScale({ report }) {
  for (const { store, work, points, made } of JSON.parse(readFileSync(CURVES, "utf8"))) {
    const [base, last] = [BASE, LARGEST].map((size) => points.find((point) => point.size === size));
    if (base === undefined || last === undefined) continue;
    const [low, high] = [0, 1].map((end) => last.quartiles[end] / base.quartiles[1 - end]);
    const [, day] = /(\d{4}-\d\d-\d\d)/.exec(made);
    report.row({
      work: `${store}, ${LARGEST.toLocaleString("en")} messages (\`npm run bench -- scale\`, ${day}), ${work}: its time`,
      against: `that at ${BASE.toLocaleString("en")}`,
      target: { atMost: 1.5 },
      values: [low, last.median / base.median, high],
    });
  }
}
