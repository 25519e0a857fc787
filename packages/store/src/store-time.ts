import type { Store } from "./contract/store.js";

/** The time from which ages count, in milliseconds since 1970: the database's, where it has a clock, so that it is one for all machines. */
export async function storeTime({ records }: Store): Promise<number> {
  return (await records.now?.()) ?? Date.now();
}
