import { sha256 } from "../../model/sha256.js";
import type { CallIds } from "./provider-rules.js";

/** A text of letters that every provider takes; `empty` for one without any. */
export function plainOf(text: string, empty: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, "_") || empty;
}

/** Ids of letters, digits, _ and -. */
export function plainIds(maxLength: number): CallIds {
  return {
    pattern: new RegExp(`^[A-Za-z0-9_-]{1,${maxLength}}$`),
    make: (id, copy) => {
      const suffix = copy === 1 ? "" : `_${copy}`;
      return plainOf(id, "call").slice(0, maxLength - suffix.length) + suffix;
    },
  };
}

/** Ids of exactly so many letters and digits. */
export function digestIds(length: number): CallIds {
  return {
    pattern: new RegExp(`^[A-Za-z0-9]{${length}}$`),
    make: (id, copy) => sha256(copy === 1 ? id : `${id} ${copy}`).slice(0, length),
  };
}
