import { sqlite } from "./sqlite.js";
import type { Store } from "./storage/contract.js";

/** Sessions that end with the process, for tests and trials: SQLite without a file, so that it behaves like one with a file. */
export function memory(): Store {
  const store = sqlite(":memory:");
  return { ...store, name: "memory" };
}
