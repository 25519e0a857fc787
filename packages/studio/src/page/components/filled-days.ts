import type { UsageRow } from "../../api.js";

const DAY_MS = 86_400_000;
const MOST_DAYS = 400;
const FEWEST_DAYS = 30;

/** The days from the first to the last, oldest first, with zeros where nothing was used; at most the newest 400,
 * at least 30. */
export function filledDays(rows: readonly UsageRow[]): UsageRow[] {
  const known = new Map(rows.map((row) => [row.name, row]));
  const times = rows.map(({ name }) => Date.parse(name)).filter((time) => !Number.isNaN(time));
  if (times.length === 0) return [];
  const last = Math.max(...times);
  const daysBefore = (days: number) => last - (days - 1) * DAY_MS;
  const first = Math.max(Math.min(...times, daysBefore(FEWEST_DAYS)), daysBefore(MOST_DAYS));
  return Array.from({ length: Math.round((last - first) / DAY_MS) + 1 }, (_, place) => {
    const name = new Date(first + place * DAY_MS).toISOString().slice(0, 10);
    return known.get(name) ?? { name, requests: 0, inputTokens: 0, outputTokens: 0, cost: 0 };
  });
}
