/**
 * Porter's stemmer (M. F. Porter, "An algorithm for suffix stripping", 1980), in the form in which SQLite's FTS5 has
 * it, so that engines with an index of our own find the same word forms as SQLite does.
 */

const VOWEL_AT_START = /^[aeiou]/;

/** Which letters are vowels: "y" is one after a consonant. */
function vowels(stem: string): boolean[] {
  const found: boolean[] = [];
  for (let index = 0; index < stem.length; index += 1) {
    const letter = stem[index] as string;
    found.push(letter === "y" ? index > 0 && found[index - 1] === false : VOWEL_AT_START.test(letter));
  }
  return found;
}

/** How often a vowel is followed by a consonant. */
function measure(stem: string): number {
  const kinds = vowels(stem);
  return kinds.filter((vowel, index) => !vowel && kinds[index - 1] === true).length;
}

const hasVowel = (stem: string) => vowels(stem).includes(true);

/** Consonant, vowel, consonant at the end, the last not w, x or y. */
function endsInSyllable(stem: string): boolean {
  const [first, second, third] = vowels(stem).slice(-3);
  return first === false && second === true && third === false && !/[wxy]$/.test(stem);
}

type Rule = readonly [suffix: string, replacement: string];

const STEP_2: readonly Rule[] = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["izer", "ize"],
  ["logi", "log"],
  ["bli", "ble"],
  ["alli", "al"],
  ["entli", "ent"],
  ["eli", "e"],
  ["ousli", "ous"],
  ["ization", "ize"],
  ["ation", "ate"],
  ["ator", "ate"],
  ["alism", "al"],
  ["iveness", "ive"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["aliti", "al"],
  ["iviti", "ive"],
  ["biliti", "ble"],
];

const STEP_3: readonly Rule[] = [
  ["icate", "ic"],
  ["ative", ""],
  ["alize", "al"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ful", ""],
  ["ness", ""],
];

const STEP_4 = /(?:al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|(?<=[st])ion|ou|ism|ate|iti|ous|ive|ize)$/;

function replaceSuffix(word: string, rules: readonly Rule[]): string {
  for (const [suffix, replacement] of rules) {
    if (!word.endsWith(suffix)) continue;
    const stem = word.slice(0, -suffix.length);
    return measure(stem) > 0 ? stem + replacement : word;
  }
  return word;
}

// Plurals and participles.
function stripInflection(word: string): string {
  let stem = word;
  if (/(?:ss|i)es$/.test(stem)) stem = stem.slice(0, -2);
  else if (/[^s]s$/.test(stem)) stem = stem.slice(0, -1);
  if (stem.endsWith("eed")) return measure(stem.slice(0, -3)) > 0 ? stem.slice(0, -1) : stem;
  const participle = /(?:ed|ing)$/.exec(stem);
  if (participle === null || !hasVowel(stem.slice(0, participle.index))) return stem;
  stem = stem.slice(0, participle.index);
  if (/(?:at|bl|iz)$/.test(stem)) return `${stem}e`;
  if (/([^aeioulsz])\1$/.test(stem)) return stem.slice(0, -1);
  return measure(stem) === 1 && endsInSyllable(stem) ? `${stem}e` : stem;
}

function stripDerivation(word: string): string {
  const match = STEP_4.exec(word);
  if (match === null) return word;
  const stem = word.slice(0, match.index);
  return measure(stem) > 1 ? stem : word;
}

/** The stem of an English word in lower case. What has fewer than three bytes of UTF-8, or more than 64, stays as it is. */
export function stem(word: string): string {
  if (/^[\0-\x7f]*$/.test(word)) return stemBytes(word);
  // SQLite's works on bytes, of which those of other letters are consonants.
  const bytes = String.fromCharCode(...new TextEncoder().encode(word.slice(0, MAX_LENGTH + 1)));
  const stemmed = stemBytes(bytes);
  if (stemmed === bytes) return word;
  return new TextDecoder().decode(Uint8Array.from(stemmed, (byte) => byte.charCodeAt(0)));
}

const MAX_LENGTH = 64;

function stemBytes(word: string): string {
  if (word.length < 3 || word.length > MAX_LENGTH) return word;
  let stemmed = stripInflection(word);
  if (stemmed.endsWith("y") && hasVowel(stemmed.slice(0, -1))) stemmed = `${stemmed.slice(0, -1)}i`;
  stemmed = stripDerivation(replaceSuffix(replaceSuffix(stemmed, STEP_2), STEP_3));
  if (stemmed.endsWith("e")) {
    const base = stemmed.slice(0, -1);
    const syllables = measure(base);
    if (syllables > 1 || (syllables === 1 && !endsInSyllable(base))) stemmed = base;
  }
  return /ll$/.test(stemmed) && measure(stemmed.slice(0, -1)) > 1 ? stemmed.slice(0, -1) : stemmed;
}
