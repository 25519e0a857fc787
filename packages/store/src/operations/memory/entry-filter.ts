import { defineOptions, invalid, isJsonObject } from "@stemma/model";
import type { EntryFilter, FieldFilter, FilterScalar, ListedEntry } from "../../contract/store.js";

const isList = (value: unknown) => (Array.isArray(value) ? undefined : "a list");
const FILTER = defineOptions<EntryFilter>({
  tags: isList,
  value: (value) => (isJsonObject(value) ? undefined : "an object of fields"),
  and: isList,
  or: isList,
});
const FIELD = defineOptions<Extract<FieldFilter, object>>({ in: isList, gte: mayCompare, lt: mayCompare });

function mayCompare(value: string | number): string | undefined {
  return typeof value === "string" || (typeof value === "number" && !Number.isNaN(value))
    ? undefined
    : "a text or a number";
}

/** Throws `INVALID_ARGUMENT` for what is no filter. */
export function assertFilter(filter: EntryFilter): void {
  FILTER.assert(filter, "a filter");
  for (const wanted of Object.values(filter.value ?? {})) assertField(wanted);
  for (const one of [...(filter.and ?? []), ...(filter.or ?? [])]) assertFilter(one);
}

function assertField(wanted: FieldFilter): void {
  if (isScalar(wanted)) return;
  FIELD.assert(wanted, "a field's filter");
  if (wanted.in?.every(isValue) === false)
    throw invalid("in of a field's filter must be a list of texts, numbers, true, false or null.");
}

/** True for an entry that a filter fits. */
export function fits(filter: EntryFilter, entry: Pick<ListedEntry, "tags" | "value">): boolean {
  const { tags = [], value = {}, and = [], or } = filter;
  return (
    tags.every((tag) => entry.tags.includes(tag)) &&
    Object.entries(value).every(([path, wanted]) => fieldFits(wanted, fieldAt(entry.value, path))) &&
    and.every((one) => fits(one, entry)) &&
    (or === undefined || or.some((one) => fits(one, entry)))
  );
}

// Null where one of the fields is missing.
function fieldAt(value: unknown, path: string): unknown {
  let found = value;
  for (const name of path.split(".")) found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : null;
  return found ?? null;
}

function fieldFits(wanted: FieldFilter, field: unknown): boolean {
  if (isScalar(wanted)) return wanted === field;
  const { in: list, gte, lt } = wanted;
  return (
    (list === undefined || list.some((each) => each === field)) &&
    (gte === undefined || (typeof field === typeof gte && (field as typeof gte) >= gte)) &&
    (lt === undefined || (typeof field === typeof lt && (field as typeof lt) < lt))
  );
}

const isValue = (value: unknown): value is FilterScalar =>
  value === null || ["string", "number", "boolean"].includes(typeof value);

const isScalar = (wanted: FieldFilter): wanted is FilterScalar => isValue(wanted);
