import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { documentTerms } from "../../../packages/model/src/search/terms.js";
import { Session } from "../../../packages/stemma/src/index.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { anyString } from "../../helpers/any-string.js";

const TEXTS = [
  "We deploy on Fridays, when the tests pass.",
  "NOT a zebra AND an okapi OR a quagga; NEAR(x, 2)",
  "東京の天気は晴れです。我们星期五部署新版本",
  "내일 회의는 서울에서 합니다 – กินข้าว – दुनिया – كِتَاب",
  "café CRÈME Straßenbahn ЁЛКА ΣΊΣΥΦΟΣ ϵ ſ \u0301 \u{f0301} 𞤀𞤁",
  "love it🥰 hello🤔world x\u0378y 👩‍👩‍👧 1 2 3 a b c",
];
const typed = fc.oneof(
  anyString({ maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc
    .array(
      fc.oneof(
        fc.constantFrom(...TEXTS.flatMap((text) => text.split(" "))),
        fc.constantFrom(..."\"'*^:+-(){}\\%_|&!«»「」“”".split(""), "AND", "NEAR(", "\0", "\ud83d"),
        anyString({ maxLength: 3 }),
      ),
      { maxLength: 80 },
    )
    .chain((pieces) => fc.constantFrom("", " ").map((between) => pieces.join(between))),
);

describe("whatever is typed", () => {
  it.each([
    ["SQLite", () => sqlite(":memory:")],
    ["memory", () => memory()],
  ])("is no error on %s, and finds only messages that hold one of its words or another form of it", async (_, open) => {
    const store = open();
    const session = Session.create(store).forSession("main");
    await session.appendAll(
      TEXTS.map((text, index) => ({ id: `m${index}`, role: "user", parts: [{ type: "text" as const, text }] })),
    );
    await fc.assert(
      fc.asyncProperty(typed, async (query) => {
        const asked = new Set(documentTerms(query));
        for (const { content } of await session.search(query)) {
          expect(documentTerms(content).some((term) => asked.has(term))).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
    await store.close();
  });
});
