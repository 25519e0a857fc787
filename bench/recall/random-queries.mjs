// Whatever is typed: a great many random queries on ten thousand messages.
import { build } from "esbuild";

const MESSAGES = 10_000;
const VOCABULARY = 4_000;
const MAX_CODE_POINT = 0x10ffff;
const ENDINGS = ["", "", "", "s", "ed", "ing", "ation", "ies"];
const OPERATORS = [
  ..."\"'*^:+-(){}[]\\%_&|!<>?#@~`$;,./=",
  '""',
  "AND",
  "OR",
  "NOT",
  "NEAR(",
  "NEAR/2",
  "text:",
  "<->",
  ":*",
];
const ODD = [
  "\0",
  "\ud83d",
  "\udc00",
  "\u200b",
  "\u0301",
  "\ufeff",
  "\n",
  "\t",
  "🥰",
  "👩‍👩‍👧",
  "«",
  "»",
  "「",
  "」",
  "„",
  "“",
  "”",
];
const LETTERS = [
  "bcdfghklmnprstvwz",
  "aeiou",
  "äöüéèñç",
  "абвгдежзиклмнопрст",
  "αβγδεζηθικλμν",
  "कखगघनमयरलसािु",
  "اأبتثجحدرسعفقكلمن",
  "的一是不了人我在有他这为之大来以个中上们",
  "あいうえおかきくけこアイウエオー",
  "가나다라마바사아자차",
  "กขคงจฉชซดตทนิุ",
];

/** Numbers from 0 to 1 that are the same at each run. */
function mulberry(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function generator(seed) {
  const random = mulberry(seed);
  const below = (n) => Math.floor(random() * n);
  const pick = (list) => list[below(list.length)];
  const many = (least, most, make) => Array.from({ length: least + below(most - least + 1) }, make);
  const latin = () => many(1, 4, () => pick(LETTERS[0]) + pick(LETTERS[1])).join("") + pick(ENDINGS);
  const word = () =>
    random() < 0.6 ? latin() : ((letters) => many(1, 6, () => pick(Array.from(letters))).join(""))(pick(LETTERS));
  const vocabulary = Array.from({ length: VOCABULARY }, word);
  // A few words are in most messages, most words in few.
  const common = () => vocabulary[Math.floor(VOCABULARY * random() ** 4)];
  const character = () => String.fromCharCode(...(random() < 0.5 ? [below(0x3000)] : [below(0x10000)]));
  const anything = () => (random() < 0.5 ? character() : String.fromCodePoint(below(MAX_CODE_POINT + 1)));
  const kinds = [
    () => many(1, 60, anything).join(""),
    () => many(1, 12, common).join(" "),
    () => many(1, 15, () => pick([common, () => pick(OPERATORS), () => pick(ODD), anything])()).join(pick(["", " "])),
    () => `"${many(1, 4, common).join(" ")}" ${many(0, 4, common).join(" ").toUpperCase()}`,
  ];
  const long = () => many(1, 300, () => pick([common, word, () => pick(OPERATORS)])()).join(" ");
  return {
    message: () =>
      many(1, 40, () => (random() < 0.03 ? anything() : common())).join(
        random() < 0.9 ? " " : pick(["", ", ", "🥰", "\n"]),
      ),
    query: () => (random() < 0.02 ? long() : pick(kinds)()),
  };
}

const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}々〆ー]/u;

/** Runs of letters, marks and digits in lower case without accents; characters of scripts without spaces one by one. */
function plainWords(text) {
  const words = new Set();
  for (const [run] of text
    .toWellFormed()
    .normalize("NFC")
    .matchAll(/[\p{L}\p{N}\p{M}\p{Co}]+/gu)) {
    let word = "";
    for (const character of run) {
      if (!UNSPACED.test(character)) word += character;
      else {
        words.add(character).add(plain(word));
        word = "";
      }
    }
    words.add(plain(word));
    // An accent at the start belongs to the sign before it.
    words.add(plain(word.replace(/^\p{M}+/u, "")));
  }
  words.delete("");
  return words;
}

const plain = (word) =>
  word
    .toLowerCase()
    .normalize("NFD")
    .replace(/(?<=\p{Script=Latin})[\u0300-\u036f]+/gu, "")
    .normalize("NFC")
    .replace(/[ςϐϑϕϖϰϱϵſẛ\u1fbe\u00b5]/gu, (shape) => shape.toUpperCase().toLowerCase());

/** The package's own stemmer, which a test holds against the published list of words and stems. */
async function loadStemmer() {
  const entry = new URL("../../packages/model/src/search/terms.ts", import.meta.url).pathname;
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, write: false, format: "esm" });
  const { stem } = await import(
    `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`
  );
  return stem;
}

/**
 * Asks so many random queries. `failed`: how many threw; `strays`: results that hold no word of their query, not even
 * another form of it; times in milliseconds, of the slowest the best of five.
 */
export async function measureRandom(open, queries) {
  const { manager, settle, close } = await open("random");
  const { message, query } = generator(1);
  for (let start = 0; start < MESSAGES; start += 1000) {
    const some = Array.from({ length: 1000 }, (_, n) => ({
      id: `m${start + n}`,
      role: "user",
      parts: [{ type: "text", text: message().replaceAll("\0", " ").toWellFormed() }],
    }));
    await manager.appendAll(`s${start}`, some);
  }
  await settle?.();
  const stem = await loadStemmer();
  const result = { queries, messages: MESSAGES, failed: 0, found: 0, strays: 0 };
  const times = [];
  for (let n = 0; n < queries; n += 1) {
    const text = query();
    try {
      const start = performance.now();
      const hits = await manager.search(text);
      times.push([performance.now() - start, text]);
      result.found += hits.length;
      const asked = plainWords(text);
      const stems = new Set([...asked].map(stem));
      for (const { content } of hits) {
        const held = plainWords(content);
        if (![...held].some((word) => asked.has(word)) && ![...held].some((word) => stems.has(stem(word)))) {
          result.strays += 1;
          if (process.env.SHOW) console.log(JSON.stringify([text, content]));
        }
      }
    } catch (error) {
      result.failed += 1;
      if (process.env.SHOW) console.log(JSON.stringify(text), error);
    }
  }
  times.sort(([a], [b]) => a - b);
  let slowest = 0;
  // The pauses of the machine are not the query's.
  for (const [, text] of times.slice(-20)) slowest = Math.max(slowest, await bestOfFive(() => manager.search(text)));
  await close();
  return { ...result, median: times[times.length >> 1][0], slowest };
}

async function bestOfFive(run) {
  let best = Number.POSITIVE_INFINITY;
  for (let n = 0; n < 5; n += 1) {
    const start = performance.now();
    await run();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}
