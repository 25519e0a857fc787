import { lazily } from "@stemma/model";
import type { Store } from "../contract/store.js";

/** The parts of a store on SQL. */
export type Parts = Pick<Store, "sessions" | "blocks" | "entries" | "records">;

type Makers = { readonly [Name in keyof Parts]: () => Parts[Name] };

/** A store whose parts are made when they are first asked for: one that does one call once is made for that call. */
export function withLazyParts<Whole extends object>(whole: Whole, makers: Makers): Whole & Parts {
  const sessions = lazily(makers.sessions);
  const blocks = lazily(makers.blocks);
  const entries = lazily(makers.entries);
  const records = lazily(makers.records);
  // Getters that an object gets after its fields take ten times as long to make.
  return {
    get sessions() {
      return sessions();
    },
    get blocks() {
      return blocks();
    },
    get entries() {
      return entries();
    },
    get records() {
      return records();
    },
    ...whole,
  };
}
