// The arguments of a call as a guard looks at them: copied once, read by the table of methods, and without what leads elsewhere.
import { invalid } from "@stemma/model";
import type { MethodRow, Named } from "@stemma/store";

/** Errors: `INVALID_ARGUMENT` for what are no arguments of the method. */
export function namesOf(row: MethodRow, values: readonly unknown[]): readonly Named[] {
  try {
    return row.names(values);
  } catch (error) {
    throw invalid("These are no arguments of this call.", {}, { cause: error });
  }
}

// What `agents` stored under a label lies beside that of all other sessions. No label has a line break.
export function withoutUpgraded(name: string, values: readonly unknown[]): unknown[] {
  const key = (value: unknown): unknown =>
    typeof value === "object" && value !== null ? { ...value, upgradedLabel: "\n" } : value;
  const [first, ...rest] = values;
  if (name === "blocks.getMany") return [(first as readonly unknown[]).map(key), ...rest];
  if (name.startsWith("blocks.") && !["blocks.list", "blocks.owners"].includes(name)) return [key(first), ...rest];
  if (name !== "store.writeTogether") return [...values];
  const write = (each: object) => ("block" in each ? { ...each, block: key(each.block) } : each);
  return [(first as readonly object[]).map(write), ...rest];
}

/** Arguments as they were when the call was made. Errors: `INVALID_ARGUMENT` for what cannot be copied. */
export function copyOf(values: readonly unknown[]): unknown[] {
  // The signal of a search is for this process, and is no data.
  const signals = values.map((value) => (isObject(value) ? value.signal : undefined));
  try {
    const copies = structuredClone(
      values.map((value, at) => (signals[at] === undefined ? value : withoutSignal(value))),
    );
    return copies.map((copy, at) =>
      signals[at] instanceof AbortSignal ? { ...(copy as object), signal: signals[at] } : copy,
    );
  } catch (error) {
    throw invalid("An argument of this call cannot be copied.", {}, { cause: error });
  }
}

const isObject = (value: unknown): value is { readonly signal?: unknown } =>
  typeof value === "object" && value !== null;

function withoutSignal(value: unknown): unknown {
  const { signal: _, ...rest } = value as { readonly signal?: unknown };
  return rest;
}
