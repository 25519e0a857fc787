import { Recent } from "@stemma/model";
import { SessionManager } from "@stemma/session";
import type { Store } from "@stemma/store";
import { guard } from "../access/guard.js";
import type { Principal } from "../access/principal.js";
import type { ServerContext, ServerOptions } from "./options.js";

type Reached = Pick<ServerContext, "store" | "sessions">;

/** Principals whose guards stay in memory. */
const REMEMBERED = 1_000;

/** The guarded store of each principal, and its manager: one for all of their requests, so that these share what runs. */
export class Contexts {
  readonly #known = new Recent<Reached>(REMEMBERED);

  constructor(
    private readonly store: Store,
    private readonly options: ServerOptions,
  ) {}

  /** Errors: those of `guard`. */
  of(principal: Principal): Reached {
    const key = JSON.stringify(Object.entries(principal).sort(([a], [b]) => (a < b ? -1 : 1)));
    const known = this.#known.get(key) ?? this.#made(principal);
    this.#known.set(key, known);
    return known;
  }

  #made(principal: Principal): Reached {
    const { audit, sessions = (each: SessionManager) => each } = this.options;
    const store = guard(this.store, principal, { onCall: audit?.note });
    return { store, sessions: sessions(SessionManager.create(store)) };
  }
}
