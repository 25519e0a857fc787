import fc from "fast-check";

const [FIRST_SURROGATE, SURROGATES] = [0xd800, 0x800];

const codePoint = fc.integer({ min: 0, max: 0x10ffff - SURROGATES }).map(
  (index) => String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES),
  (value) => {
    const [first = "", ...others] = typeof value === "string" ? value : "";
    const found = first.codePointAt(0);
    if (found === undefined || others.length > 0 || !first.isWellFormed()) throw new Error("This is no code point.");
    return found < FIRST_SURROGATE ? found : found - SURROGATES;
  },
);

/** Strings of any code points. Fast-check's own, with the unit `binary`, begin with a map of a million characters in each process. */
export function anyString(constraints: Omit<fc.StringConstraints, "unit"> = {}): fc.Arbitrary<string> {
  return fc.string({ ...constraints, unit: codePoint });
}
