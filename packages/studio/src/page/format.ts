const whole = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const moment = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const dayAndYear = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });
const monthInUtc = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" });
const fullDayInUtc = new Intl.DateTimeFormat("en", { dateStyle: "long", timeZone: "UTC" });

export function count(value: number): string {
  return whole.format(value);
}

/** A large number in few characters, such as `12.3K`. */
export function short(value: number): string {
  return value < 1000 ? whole.format(value) : compact.format(value);
}

/** A number with its noun, such as `1 message` or `2 messages`. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${whole.format(value)} ${value === 1 ? noun : plural}`;
}

/** The day of a time that is stored in UTC; of a time with which a month begins, the month. */
export function dayInUtc(iso: string): string {
  return (iso.endsWith("-01T00:00:00.000Z") ? monthInUtc : fullDayInUtc).format(new Date(iso));
}

export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  if (value < 1_000_000) return `${(value / 1000).toFixed(1)} kB`;
  return `${(value / 1_000_000).toFixed(1)} MB`;
}

/** A cost in the unit in which the program counts it. */
export function cost(value: number): string {
  if (value === 0) return "0";
  return value < 0.01 ? value.toPrecision(2) : value.toFixed(2);
}

/** A score, of which only the first digits matter. */
export function score(value: number): string {
  return value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(2) : value.toPrecision(3);
}

export function fullTime(time: Date): string {
  return Number.isNaN(time.getTime()) ? "unknown time" : moment.format(time);
}

/** How long ago a time was, or its day where that was more than a week. */
export function ago(time: Date, now = new Date()): string {
  const seconds = (now.getTime() - time.getTime()) / 1000;
  if (Number.isNaN(seconds)) return "—";
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 604_800) return `${Math.floor(seconds / 86_400)} d ago`;
  return time.getFullYear() === now.getFullYear() ? day.format(time) : dayAndYear.format(time);
}
