import { isJsonObject, type JsonObject } from "../../model/json-object.js";
import { sameJson } from "../../model/same-json.js";

type Compare = (found: unknown, wanted: unknown) => boolean;

const OPERATORS: Readonly<Record<string, Compare>> = {
  $eq: sameJson,
  $ne: (found, wanted) => !sameJson(found, wanted),
  $gt: (found, wanted) => order(found, wanted) > 0,
  $gte: (found, wanted) => order(found, wanted) >= 0,
  $lt: (found, wanted) => order(found, wanted) < 0,
  $lte: (found, wanted) => order(found, wanted) <= 0,
  $in: (found, wanted) => Array.isArray(wanted) && wanted.some((value) => sameJson(found, value)),
  $nin: (found, wanted) => !(Array.isArray(wanted) && wanted.some((value) => sameJson(found, value))),
};

/** True for a value whose fields are those of the filter, or compare with them as its operators say. */
export function fitsFilter(value: JsonObject, filter: JsonObject = {}): boolean {
  return Object.entries(filter).every(([field, wanted]) => {
    const found = Object.hasOwn(value, field) ? value[field] : undefined;
    const operators = isJsonObject(wanted) ? Object.entries(wanted) : [];
    if (operators.length === 0 || !operators.every(([name]) => Object.hasOwn(OPERATORS, name))) {
      return sameJson(found, wanted);
    }
    return operators.every(([name, bound]) => OPERATORS[name]?.(found, bound));
  });
}

// Numbers, and texts that are numbers, by size; other texts by their characters. NaN for a number and another text.
function order(found: unknown, wanted: unknown): number {
  const [a, b] = [numberOf(found), numberOf(wanted)];
  if (!Number.isNaN(a) || !Number.isNaN(b)) return a - b;
  if (typeof found !== "string" || typeof wanted !== "string") return Number.NaN;
  return found < wanted ? -1 : found > wanted ? 1 : 0;
}

function numberOf(value: unknown): number {
  if (typeof value === "number") return value;
  return typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
}
