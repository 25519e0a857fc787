import { words } from "../../model/query.js";
import { foldWord } from "../../model/terms.js";

// Characters of which FTS5's unicode61 and `words` say the same: Latin, Cyrillic, and the punctuation of most texts.
const ALIKE = /^[\0-\u02ff\u0400-\u0481\u048a-\u04ff\u2010-\u2027\u2030-\u205e]*$/;

// Parts of words that unicode61 takes for space: vowels of Indic scripts and of Thai, points of Arabic and Hebrew, and
// some letters of New Tai Lue.
const APART = /[\p{M}\u19b0-\u19c9\u1cf2\u1cf3\u{f0000}-\u{fffff}]/gu;

/**
 * A text in which FTS5's unicode61 sees the words that `words` sees. By itself it knows Unicode as of 2012, when most
 * emoji were no characters yet, and takes a word with one behind it for a longer word; it ends a word at most marks; and
 * it does not divide scripts without spaces.
 */
export function sqliteWords(text: string): string {
  const wellFormed = text.toWellFormed();
  if (ALIKE.test(wellFormed)) return wellFormed;
  return words(wellFormed)
    .map((word) => foldWord(word).replace(APART, privateUse))
    .join(" ");
}

/** Bytes of UTF-8 that a unit of UTF-16 can become: a letter with two points, and the space behind it. */
export const MAX_UNIT_BYTES = 11;

// Characters for private use are parts of words. One that a text has itself gets another before it, to stay apart.
function privateUse(character: string): string {
  const code = character.codePointAt(0) as number;
  return code >= 0xf0000 && code <= 0xfffff ? `\uf8ff${character}` : String.fromCodePoint(0xf0000 + (code & 0xffff));
}
