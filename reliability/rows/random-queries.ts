import fc from "fast-check";
import { message } from "../../packages/conformance/src/samples.js";
import { Session } from "../../packages/stemma/src/session.js";
import { anyString } from "../../test/helpers/any-string.js";
import type { Row } from "../tools/row.js";

const TEXTS = [
  "We deploy on Fridays, when the tests pass.",
  "NOT a zebra AND an okapi OR a quagga; NEAR(x, 2)",
  "東京の天気は晴れです。我们星期五部署新版本",
  "내일 회의는 서울에서 합니다 – กินข้าว – दुनिया – كِتَاب",
  "café CRÈME Straßenbahn ЁЛКА ΣΊΣΥΦΟΣ",
  "love it🥰 hello🤔world 👩‍👩‍👧 1 2 3 a b c",
];
const SIGNS = ["\"'*^:+-(){}\\%_|&!«»“”".split(""), "AND", "OR", "NOT", "NEAR(", "\0", "\ud83d", "--", ";", "$1", "?"];
const piece = fc.oneof(
  fc.constantFrom(...TEXTS.flatMap((text) => text.split(" "))),
  fc.constantFrom(...SIGNS.flat()),
  anyString({ maxLength: 3 }),
);
const typed = fc.oneof(
  anyString({ maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.array(piece, { maxLength: 40 }).chain((pieces) => fc.constantFrom(pieces.join(""), pieces.join(" "))),
);

/** Whatever is typed is a query. */
export const randomQueries: Row = {
  number: 17,
  title: "{size} random queries",
  target: "0 errors",
  sizes: { SQLite: [100_000, 1_000], Postgres: [100_000, 250], memory: [100_000, 0] },
  async run({ place, open, size }) {
    const store = open(await place());
    const session = Session.create(store).forSession("main");
    await session.appendAll(TEXTS.map((text, index) => message(`m${index}`, text)));
    const errors: string[] = [];
    let found = 0;
    for (let seed = 0; seed < size; seed += 1_000) {
      const queries = fc.sample(typed, { seed, numRuns: Math.min(1_000, size - seed) });
      for (const query of queries) {
        await session.search(query).then(
          (hits) => {
            found += hits.length > 0 ? 1 : 0;
          },
          (error) => errors.push(`${JSON.stringify(query)}: ${error}`),
        );
      }
    }
    await store.close();
    const figure = `${errors.length} errors; ${found.toLocaleString("en-US")} found something`;
    return { figure, met: errors.length === 0, details: errors.slice(0, 5) };
  },
};
