import { readFileSync } from "node:fs";

const CURVES = new URL("../../docs/scaling/curves.json", import.meta.url);
const LARGEST = 10_000_000;

/** Of this one there are more to score in a larger store; the goal is for as many candidates. */
const WITHOUT_TARGET = "search for a word of every fifth";

/**
 * What calls take in a store of ten million messages, as `npm run bench:scale` measured and published it: to fill one takes longer
 * than all else here. The rows say when that was.
 */
export function measureScale({ report }) {
  for (const { store, work, points, growth = [], made } of JSON.parse(readFileSync(CURVES, "utf8"))) {
    if (points.at(-1).size !== LARGEST || growth.length === 0) continue;
    report.row({
      work: `${store}, ${LARGEST.toLocaleString("en")} messages (\`bench:scale\` ${made}), ${work}: its time`,
      against: "that at 10,000",
      target: work === WITHOUT_TARGET ? undefined : { atMost: 1.5 },
      values: growth,
    });
  }
}
