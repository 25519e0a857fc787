import { LINE_BREAKS } from "./label.js";

/*
 * What keeps written text from being taken for the prompt's own lines. Each function has an inverse that gives back
 * exactly what went in, and leaves text without such look-alikes as it is.
 */

/** Runs of `═` at least this long are broken up; the prompt's own have 46. */
const LONG_RUN = 30;
/** No run is left longer than this. */
const SHORT_RUN = 20;

// A run, with the backslashes in it and in front of it. Escaping keeps the number of `═`, so both directions find the same runs.
// (?<!\\) keeps the search linear in texts that are full of backslashes.
const run = new RegExp(String.raw`(?<!\\)\\*═(?:\\*═){${LONG_RUN - 1},}`, "g");
const bar = /(\\*)═/g;

/** Breaks long runs of `═` with backslashes. */
export function escapeRuns(text: string): string {
  return text.replace(run, (found) => {
    let count = 0;
    return found.replace(bar, (_, slashes: string) => `${slashes}${slashes}${count++ % SHORT_RUN === 0 ? "\\" : ""}═`);
  });
}

export function unescapeRuns(text: string): string {
  return text.replace(run, (found) =>
    found.replace(bar, (_, slashes: string) => `${slashes.slice(0, Math.floor(slashes.length / 2))}═`),
  );
}

// One visible sign for each character of LINE_BREAKS, in the same order.
const SIGNS = "⏎␍␋␌␜␝␞␤␊␟";
const breaks = new RegExp(String.raw`(?<!\\)(\\*)([${SIGNS}${LINE_BREAKS}])`, "gu");
const signs = new RegExp(String.raw`(?<!\\)(\\*)([${SIGNS}])`, "gu");

/** Writes a text on one line: a line break becomes `⏎`, what already is one gets a backslash in front. */
export function escapeLineBreaks(text: string): string {
  return text.replace(breaks, (_, slashes: string, character: string) => {
    const index = LINE_BREAKS.indexOf(character);
    return index < 0 ? `${slashes}${slashes}\\${character}` : `${slashes}${slashes}${SIGNS.charAt(index)}`;
  });
}

export function unescapeLineBreaks(text: string): string {
  return text.replace(signs, (_, slashes: string, sign: string) => {
    const half = slashes.slice(0, Math.floor(slashes.length / 2));
    return slashes.length % 2 === 1 ? half + sign : half + LINE_BREAKS.charAt(SIGNS.indexOf(sign));
  });
}

/** Puts a backslash before a bracket that follows a space: there the header goes on to what is not the label. */
export function escapeBrackets(label: string): string {
  return label.replace(/(?<= )\\*[([]/g, (found) => `\\${found}`);
}

export function unescapeBrackets(label: string): string {
  return label.replace(/(?<= )\\+[([]/g, (found) => found.slice(1));
}
