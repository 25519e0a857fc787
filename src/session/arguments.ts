import { StemmaError } from "../errors.js";

/** Throws `INVALID_ARGUMENT` for a number of results that nobody can be given. */
export function assertLimit(limit: number): void {
  if (Number.isInteger(limit) && limit > 0) return;
  throw new StemmaError("INVALID_ARGUMENT", { limit }, "limit is a whole number above 0.");
}

/** Throws `INVALID_ARGUMENT` for what is not an array. */
export function assertList(value: unknown, rule: string): void {
  if (!Array.isArray(value)) throw new StemmaError("INVALID_ARGUMENT", {}, rule);
}
