import { assertArgument, assertStorableText, check, invalid, isStoredTime } from "@stemma/model";

/** Throws `INVALID_TEXT` for a field that no column keeps; what is no text passes. `whose` begins the name of each: "A session's". */
export function assertStorable(whose: string, fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === "string") assertStorableText(value, `${whose} ${name}`);
  }
}

/** Throws `INVALID_ARGUMENT` for an empty name. */
export function assertNamed(name: string, what: string): void {
  if (name === "") throw invalid(`${what} must be a text that is not empty.`);
}

/** Throws `INVALID_ARGUMENT` for a time that is not in the one form in which all are stored; those that are missing pass. */
export function assertTimes(whose: string, times: Readonly<Record<string, string | undefined>>): void {
  for (const [name, time] of Object.entries(times)) {
    if (time === undefined || isStoredTime(time)) continue;
    throw invalid(`${whose} ${name} must be ISO text as new Date().toISOString() gives it, of the years 1 to 9999.`, {
      [name]: time,
    });
  }
}

/** Throws `INVALID_ARGUMENT` for a version that is no whole number above 0; one that is missing passes. */
export function assertVersionNumber(version: number | undefined, what: string): void {
  if (version === undefined || (Number.isSafeInteger(version) && version > 0)) return;
  throw invalid(`${what} must be a whole number above 0.`, { version });
}

/**
 * Errors: `INVALID_ARGUMENT` for what is given and is no whole number, or is below `least`. A database would refuse it in words of its own,
 * and a loop that waits for so many rows would not end.
 */
export function assertCount(value: number | undefined, what: string, least = 1): void {
  if (value !== undefined) assertArgument(check.whole(least), value, what);
}

/** Of what is read to its end where no limit ends it before: `Infinity` is no limit. Errors: as of `assertCount`. */
export function assertLimit(value: number | undefined, what: string): void {
  if (value !== Number.POSITIVE_INFINITY) assertCount(value, what);
}
