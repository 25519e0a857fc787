import { storableText } from "./storable-text.js";

/** A short text of a file that can be stored as it is: the name of a model or a folder. Undefined for anything else. */
export function nameOf(value: unknown): string | undefined {
  const isName = typeof value === "string" && value !== "" && value.length <= 1024;
  return isName && storableText(value) === value ? value : undefined;
}
