// Signs. Those that stand for Latin letters (№, ™, ㎏) or a fraction are words of their own also where they touch another one.
const SIGNS = /(?![\0-\x7f])[\p{S}¼-¾⅐-⅟↉]/gu;
const IS_WORD = /[\p{Script=Latin}⁄]/u;
const MARKS_ON_NOTHING = / \p{M}{1,1000}/gu;
// What is no part of a word, and the only thing that is not normal in many a text: a space in its place saves the rest.
const BETWEEN_WORDS = /[\xa0\u3000…]/g;
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
  const wellFormed = text.toWellFormed().replace(BETWEEN_WORDS, " ");
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
