import type { CheckProblem, CheckRule } from "../contract/store.js";

export type Finding = Omit<CheckProblem, "repaired">;

export class Findings {
  readonly problems: Finding[] = [];
  readonly checked: Record<string, number> = {};

  count(table: string, rows: number): void {
    this.checked[table] = (this.checked[table] ?? 0) + rows;
  }

  add(rule: CheckRule, table: string, sessionId: string | null, id: string | null, message: string): void {
    this.problems.push({ rule, table, sessionId, id, message });
  }

  has(rule: CheckRule): boolean {
    return this.problems.some((problem) => problem.rule === rule);
  }
}

/** True for a time as every table writes it. */
export function isTime(value: unknown): boolean {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)) return false;
  const time = new Date(value);
  return !Number.isNaN(time.getTime()) && time.toISOString() === value;
}

export function isJson(value: unknown): boolean {
  try {
    JSON.parse(value as string);
    return typeof value === "string";
  } catch {
    return false;
  }
}

export const isText = (value: unknown): value is string => typeof value === "string";

export const isTextOrNull = (value: unknown): boolean => value === null || typeof value === "string";

export const isWhole = (value: unknown, least = 0): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= least;
