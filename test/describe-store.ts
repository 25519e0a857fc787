import { describe, it } from "vitest";
import { describeStore as register, type StoreTarget } from "../src/testing.js";

/** The engines that `STORES` names, as in `STORES=sqlite,pglite npx vitest run`; all of them where it is not set. */
const chosen = process.env.STORES?.split(",");

/** Registers the conformance suite for a store of an engine, unless `STORES` leaves that out. */
export function describeStore(engine: string, target: StoreTarget): void {
  if (chosen === undefined || chosen.includes(engine)) register(target, { describe, it });
  else it.skip(`the ${target.name} store (STORES does not name ${engine})`, () => {});
}
