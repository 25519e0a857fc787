import type { Quota, QuotaName } from "@stemma/server";
import { InvalidArgumentError } from "commander";

/** An option's text, which says something. */
export function nonEmpty(text: string): string {
  if (text === "") throw new InvalidArgumentError("It must not be empty.");
  return text;
}

/** One of the names that an option may have. */
export function oneOf(names: readonly string[]): (text: string) => string {
  return (text) => {
    if (names.includes(text)) return text;
    throw new InvalidArgumentError(`Known are: ${names.join(", ")}.`);
  };
}

/** An option's whole number above 0. */
export function positiveNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError("It must be a whole number above 0.");
  return number;
}

/** An option's whole number from 0. */
export function wholeNumber(text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !Number.isSafeInteger(number) || number < 0)
    throw new InvalidArgumentError("It must be a whole number from 0.");
  return number;
}

/** An option's port; 0 stands for a free one. */
export function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port > 65_535) throw new InvalidArgumentError("It must be a whole number from 0 to 65535.");
  return port;
}

const UNITS = { m: 60, h: 3600, d: 86_400, w: 604_800 } as const;

/** An option's point in time, in milliseconds since 1970: a date, a date with a time, or how long ago (`30m`, `2h`, `7d`, `4w`). */
export function time(text: string): number {
  const [, number, unit] = /^(\d+)([mhdw])$/u.exec(text) ?? [];
  if (number !== undefined) return Date.now() - Number(number) * UNITS[unit as keyof typeof UNITS] * 1000;
  // A date alone begins at midnight here, not in Greenwich.
  const date = new Date(/^\d{4}-\d\d-\d\d$/u.test(text) ? `${text}T00:00` : text);
  if (!/^\d{4}-/u.test(text) || Number.isNaN(date.getTime()))
    throw new InvalidArgumentError(
      "It must be a date (2026-01-31), a date with a time (2026-01-31T14:05), or 2h, 7d, 4w.",
    );
  return date.getTime();
}

// By their names, since the server is not loaded to read options.
const QUOTAS: Readonly<Record<QuotaName, true>> = {
  requestsPerMinute: true,
  requestsPerDay: true,
  writesPerDay: true,
  bytesPerDay: true,
};

/** An option's limits with commas between them: `writesPerDay=1000,bytesPerDay=5000000`. */
export function quota(text: string): Quota {
  const limits = text.split(",").map((each) => {
    const [name = "", number = "", ...more] = each.trim().split("=");
    if (!Object.hasOwn(QUOTAS, name) || more.length > 0) {
      const known = Object.keys(QUOTAS).join(", ");
      throw new InvalidArgumentError(`It must be writesPerDay=1000, say; known are: ${known}.`);
    }
    return [name, positiveNumber(number)] as const;
  });
  const names = new Set(limits.map(([name]) => name));
  if (names.size < limits.length) throw new InvalidArgumentError("Each limit must stand in it once.");
  return Object.fromEntries(limits);
}
