import { NAME_LIMITS } from "./name-limits.js";
import { storableText } from "./storable-text.js";
import { utf8Length } from "./utf8.js";

/** A short text of a file that can be stored as it is: the name of a model or a folder. Undefined for anything else. */
export function nameOf(value: unknown): string | undefined {
  const isName = typeof value === "string" && value !== "" && utf8Length(value) <= NAME_LIMITS.model;
  return isName && storableText(value) === value ? value : undefined;
}
