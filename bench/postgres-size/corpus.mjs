// Sessions of ten messages whose words are as frequent as those of a language: the n-th most frequent word stands in
// about one of n places. The same for every store.
import { random } from "../messages.mjs";

export const SESSION = 10;

/** A session of 200 messages for forks, in which is also searched. */
export const LONG = "long";

/** Ten sessions from all over a store of so many messages, as those of one user are. */
export const tenSessions = (messages) =>
  Array.from({ length: 10 }, (_, index) => `s${Math.floor(((index + 0.5) * messages) / SESSION / 10)}`);

const WORDS = 50_000;
const SYLLABLES = "ka to mi ra sen dor el vin qua tor ma lo shi ber nu gan pre sto cle far".split(" ");

/** The word of a rank, from 0 on. It has no ending that a stemmer takes off. */
export function wordOf(rank) {
  let word = "";
  for (let rest = rank + 20; rest > 0; rest = Math.floor(rest / 20)) word += SYLLABLES[rest % 20];
  return `${word}x`;
}

/** No ending of it is taken off either. */
const RARE = "needlestonex";

/** What is searched for. Of 100,000 messages the rare word is in ten, and the common one in every fifth or so. */
export const QUERIES = {
  "a rare word": RARE,
  "a common word": wordOf(20),
  "three words": [5_000, 500, 50].map(wordOf).join(" "),
  "a question": `what did ${[3, 30, 300, 3_000, 12, 120, 1_200].map(wordOf).join(" ")} say about the ${RARE}?`,
};

/** The words of a query that a search looks for: a question's common words of English are left out. */
const STOP_WORDS = new Set(["what", "did", "say", "about", "the"]);
export const documentTermsOf = (query) => query.match(/[a-z]+/g).filter((word) => !STOP_WORDS.has(word));

/** The messages of session `index`. Every thousandth session names the rare word, and the first one does. */
export function sessionOf(index) {
  const next = random(index + 1);
  const word = () => wordOf(Math.floor(WORDS ** next()) - 1);
  return Array.from({ length: SESSION }, (_, place) => {
    const words = Array.from({ length: 15 + Math.floor(next() * 50) }, word);
    if (index % 1000 === 0 && place === 4) words[7] = RARE;
    const role = place % 2 === 0 ? "user" : "assistant";
    return { id: `m${place}`, role, parts: [{ type: "text", text: words.join(" ") }] };
  });
}
