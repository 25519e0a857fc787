import { documentTerms } from "@stemma/model";
import type { EmbedFunction } from "@stemma/store";

/**
 * An embedder for tests, which needs no model and always gives the same: a text's words and the pieces of three letters
 * in them, counted in places that a hash tells. Texts that share words, or are spelled alike, are alike.
 */
export function hashingEmbedder({ dimensions = 256 }: { dimensions?: number } = {}) {
  const embed: EmbedFunction = async (texts) => texts.map((text) => vectorOf(text, dimensions));
  return { embed, id: `hashing-${dimensions}`, dimensions };
}

function vectorOf(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  const count = (piece: string): void => {
    const place = hash(piece) % dimensions;
    vector[place] = (vector[place] as number) + 1;
  };
  for (const term of documentTerms(text)) {
    const letters = ["<", ...term, ">"];
    count(term);
    for (let end = 3; end <= letters.length; end += 1) count(letters.slice(end - 3, end).join(""));
  }
  return vector;
}

// FNV-1a.
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value >>> 0;
}
