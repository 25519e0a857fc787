/** Throws, as a provider would answer, unless what it asks for is so. */
export function must(so: unknown, message: string): asserts so {
  if (!so) throw new RangeError(message);
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
