import { invalid, isoTime, quote, shorten } from "@stemma/model";

/** The times between which a search looks, in milliseconds since 1970. */
export interface SearchTimes {
  /** Only what is of this time or later. */
  readonly after?: number | undefined;
  /** Only what is of before this time. */
  readonly before?: number | undefined;
}

const EXAMPLE = "2026-05-01 or 2026-05-01T14:00Z";

/** The fields of a tool's input that `readTimes` reads. */
export const TIMES = {
  after: { type: "string", maxLength: 64, description: `Only what is of this date or time, or later: ${EXAMPLE}.` },
  before: {
    type: "string",
    maxLength: 64,
    description: "Only what is of before this date or time. For all of May 2026: after 2026-05-01, before 2026-06-01.",
  },
} as const;

// A time without a zone is one of UTC, as dates are.
const ISO = /^(\d{4}(?:-\d\d(?:-\d\d)?)?)(?:T(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/i;

/** The times that a model named. Errors: `INVALID_ARGUMENT`, which says how they are written. */
export function readTimes(given: {
  readonly after?: string | undefined;
  readonly before?: string | undefined;
}): SearchTimes {
  const after = readTime("after", given.after);
  const before = readTime("before", given.before);
  if (after === undefined || before === undefined || after < before) return { after, before };
  throw invalid(`after must be earlier than before, and nothing lies between ${given.after} and ${given.before}.`);
}

function readTime(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, date = "", time, zone = "Z"] = ISO.exec(text.trim().replace(/^(\S+) (?=\d)/, "$1T")) ?? [];
  const read = new Date(time === undefined ? date : `${date}T${time}${zone.toUpperCase()}`).getTime();
  // A day that its month lacks would be read as one of the next month.
  if (!Number.isNaN(read) && isoTime(date)?.startsWith(date) === true) return read;
  throw invalid(`${name} must be a date or a time in ISO form, such as ${EXAMPLE}, not ${quote(shorten(text))}.`);
}
