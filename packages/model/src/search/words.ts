// The words of a text: how it is made normal, and how they are told apart in that.

// Signs. Those that stand for Latin letters (№, ™, ㎏) or a fraction are words of their own also where they touch another one.
const SIGNS = /(?![\0-\x7f])[\p{S}¼-¾⅐-⅟↉]/gu;
const IS_WORD = /[\p{Script=Latin}⁄]/u;
const MARKS_ON_NOTHING = / \p{M}{1,1000}/gu;
// What is no part of a word, and the only thing that is not normal in many a text: a space in its place saves the rest.
const NO_WORD = /[\xa0\u3000…]/g;
// Soft hyphens, and what selects a variant of the character before it.
const UNSEEN = /\xad|[\ufe00-\ufe0f]|\udb40[\udd00-\uddef]/g;
// What may become one character with those before it: marks, the sounds of half-width kana, the letters of Hangul.
const JOINS = "[\\p{M}\\xad\\uff9e\\uff9f\\u1160-\\u11ff\\u3131-\\u318e\\uffa0-\\uffdc]{0,1000}";
const CHARACTER = new RegExp(`[^]${JOINS}`, "gu");
const CHARACTERS = new RegExp(`[^]{1,64}${JOINS}`, "gu");

export function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

/**
 * A text with the usual characters in the place of their other forms, such as full-width letters, half-width kana and ligatures:
 * Unicode's NFKC. Words are told apart in it, of what is searched and of what is looked for.
 */
export function normalText(text: string): string {
  if (isAscii(text)) return text;
  const wellFormed = text.toWellFormed().replace(NO_WORD, " ");
  const normal = wellFormed.normalize("NFKC");
  // What is left out is left out of a normal text too: a part of a text becomes what it is in the whole.
  const isWhole = normal.search(UNSEEN) < 0 && normal.search(MARKS_ON_NOTHING) < 0;
  if (normal === wellFormed && isWhole) return normal;
  const apart = wellFormed.replace(UNSEEN, "").replace(SIGNS, withSpaces);
  return apart.normalize("NFKC").replace(MARKS_ON_NOTHING, " ");
}

const withSpaces = (sign: string) => (IS_WORD.test(sign.normalize("NFKC")) ? ` ${sign} ` : sign);

export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Tells of a range of `normalText(text)` which one of the text it is made of. They are asked for in ascending order. */
export function originalRanges(text: string): (range: Range) => Range {
  const pieces = piecesOf(text);
  let piece: Piece = { start: 0, end: 0, normalEnd: 0, isNormal: true };
  const pieceAt = (place: number): Piece => {
    while (piece.normalEnd <= place) {
      const next = pieces.next();
      if (next.done) break;
      piece = next.value;
    }
    return piece;
  };
  return (range) => {
    const first = pieceAt(range.start);
    const start = first.isNormal ? first.end - (first.normalEnd - range.start) : first.start;
    const last = pieceAt(range.end - 1);
    return { start, end: last.isNormal ? last.end - (last.normalEnd - range.end) : last.end };
  };
}

/** A piece of a text, which becomes the same whatever stands beside it. */
interface Piece extends Range {
  /** Where it ends in the normal text. */
  readonly normalEnd: number;
  readonly isNormal: boolean;
}

// Most of a text is normal: only where it is not are its characters told apart. They are the same ones over and over.
function* piecesOf(text: string): Generator<Piece, undefined> {
  const lengths = new Map<string, number>();
  const lengthOf = (piece: string): number => {
    const length = lengths.get(piece) ?? normalText(piece).length;
    lengths.set(piece, length);
    return length;
  };
  let [start, normalEnd] = [0, 0];
  for (const [characters] of text.matchAll(CHARACTERS)) {
    const isNormal = normalText(characters) === characters;
    for (const piece of isNormal ? [characters] : (characters.match(CHARACTER) ?? [])) {
      const end = start + piece.length;
      normalEnd += isNormal ? piece.length : lengthOf(piece);
      yield { start, end, normalEnd, isNormal };
      start = end;
    }
  }
}

// Scripts in which a word is not set off by spaces: each character is indexed by itself.
const SCRIPTS = "Han Hiragana Katakana Hangul Thai Lao Khmer Myanmar".split(" ").map((name) => `\\p{Script=${name}}`);
const IN_WORDS = "\\p{L}\\p{N}\\p{M}\\p{Co}";
const UNSPACED = `[[${SCRIPTS.join("")}々〆ー]&&[${IN_WORDS}]]`;
// What takes megabytes in one go overflows the stack, for the engine keeps each step: a longer token is found in parts.
const MAX_RUN = 10_000;
const AT_ONCE = `{1,${MAX_RUN}}`;
const TOKEN = new RegExp(`${UNSPACED}${AT_ONCE}|[[${IN_WORDS}]--${UNSPACED}]${AT_ONCE}`, "gv");
// The same, but for each character of an unspaced script by itself.
const WORD = new RegExp(`${UNSPACED}|[[${IN_WORDS}]--${UNSPACED}]${AT_ONCE}`, "gv");
const BETWEEN_WORDS = new RegExp(`[^${IN_WORDS}]`, "v");
const UNSPACED_RUN = new RegExp(`^${UNSPACED}`, "v");
const HAS_UNSPACED = new RegExp(UNSPACED, "v");

/** Different words of a query, or sequences of them, that count: more make it slower, not better. */
export const MAX_WORDS = 256;

/** The words and unspaced runs of a normal text, in order, up to the one that would be too many different ones. */
export function tokenize(text: string): string[] {
  const found: string[] = [];
  const different = new Set<string>();
  for (const token of tokensOf(text)) {
    if (different.add(token).size > MAX_WORDS) break;
    found.push(token);
  }
  return found;
}

/** All words of a text, in order, in its normal form, each character of an unspaced script by itself. */
export function words(text: string): string[] {
  if (isAscii(text)) return text.match(/[\dA-Za-z]+/g) ?? [];
  const parts = normalText(text).split(BETWEEN_WORDS);
  return parts.filter(Boolean).flatMap((part) => (HAS_UNSPACED.test(part) ? apart(part) : part));
}

function apart(part: string): string[] {
  const found = part.match(WORD) ?? [];
  if (!found.some(({ length }) => length >= MAX_RUN)) return found;
  return tokensOf(part).flatMap((token) => (isUnspaced(token) ? Array.from(token) : token));
}

function tokensOf(text: string): string[] {
  const wellFormed = text.toWellFormed();
  const tokens = wellFormed.match(TOKEN) ?? [];
  return tokens.some(({ length }) => length >= MAX_RUN) ? wholeTokens(wellFormed) : tokens;
}

// Parts of one token touch each other, and are of the same kind.
function wholeTokens(text: string): string[] {
  const found: string[] = [];
  let end = -1;
  let isLastUnspaced = false;
  for (const { 0: part, index } of text.matchAll(TOKEN)) {
    const isPartUnspaced = isUnspaced(part);
    if (index === end && isPartUnspaced === isLastUnspaced) found[found.length - 1] += part;
    else found.push(part);
    end = index + part.length;
    isLastUnspaced = isPartUnspaced;
  }
  return found;
}

/** Finds the words and unspaced runs of a normal text, one with each `exec`; those of more than 10,000 characters in parts. */
export function wordPattern(): RegExp {
  return new RegExp(TOKEN);
}

/** True for a run of characters of a script that is written without spaces. */
export function isUnspaced(token: string): boolean {
  return UNSPACED_RUN.test(token);
}
