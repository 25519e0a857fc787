import type { EntryScope, Store } from "@stemma/store";
import { coreOf, type Session } from "./session.js";

/** Where a block of a session keeps the entries of one scope, and what holds for them. */
export interface UserEntries {
  /** The block's label. */
  readonly label: string;
  readonly description: string | null;
  /** The largest content of an entry, in estimated tokens. */
  readonly maxTokens: number;
  /** How many versions are kept of an entry; undefined for as many as usual. */
  readonly keepVersions: number | undefined;
  readonly store: Store;
  readonly scope: EntryScope;
  /** The scope's name. */
  readonly name: string;
  /** True where the model, learning and the user may write. */
  readonly writable: boolean;
}

/**
 * Where the blocks of a session keep entries of its user: in the order of the blocks, then of their scopes. Of a block with several
 * scopes the others are among them, but for the session's own.
 */
export function userEntriesOf(session: Session): UserEntries[] {
  return coreOf(session).context.live.all.flatMap(({ label, cap, config, entryPlaces }) => {
    if (!entryPlaces.some(({ scope }) => scope === "user")) return [];
    const { description = null, keepVersions } = config;
    return entryPlaces
      .filter(({ scope }) => scope !== "session")
      .map(({ name, writable, store, entries: scope }) => {
        return { label, description, maxTokens: cap, keepVersions, store, scope, name, writable };
      });
  });
}
