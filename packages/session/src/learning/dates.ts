const DATE = /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:(Z)|([+-]\d\d):?(\d\d))?)?)?)?$/;

/**
 * A year, a month, a date or a time as ISO text in UTC: a year begins on January 1, and a time without a zone is one of UTC.
 * Undefined where nothing is given, null for what is no date.
 */
export function readDate(given: unknown): string | null | undefined {
  if (given === undefined || given === null || given === "") return undefined;
  const found = typeof given === "string" || typeof given === "number" ? DATE.exec(String(given).trim()) : null;
  if (found === null) return null;
  const [, year, month = "01", day = "01", time = "00:00", , hours, minutes] = found;
  const date = `${year}-${month}-${day}`;
  const midnight = new Date(`${date}T00:00Z`);
  const read = new Date(`${date}T${time}${hours === undefined ? "Z" : `${hours}:${minutes}`}`);
  if (Number.isNaN(midnight.getTime()) || Number.isNaN(read.getTime())) return null;
  // Date takes February 30 for a day of March. A zone may lead out of the years that are stored.
  const isDate = midnight.toISOString().startsWith(date) && /^\d{4}-/.test(read.toISOString());
  return isDate ? read.toISOString() : null;
}
