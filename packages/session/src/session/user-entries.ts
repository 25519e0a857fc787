import type { EntryScope, Store } from "@stemma/store";
import { AgentSearchProvider, placeOfEntries } from "../context/providers/agent-search.js";
import { coreOf, type Session } from "./session.js";

/** Where a block of a session keeps entries of its user, and what holds for them. */
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
}

/** The blocks of a session that keep entries of its user, which the model may write, in their order. */
export function userEntriesOf(session: Session): UserEntries[] {
  return coreOf(session).context.live.all.flatMap(({ label, provider, cap, config }) => {
    if (!(provider instanceof AgentSearchProvider)) return [];
    // It has its block's label from the first call on.
    provider.init(label);
    const { store, scope } = placeOfEntries(provider);
    if (scope.scope !== "user") return [];
    const { description = null, keepVersions } = config;
    return [{ label, description, maxTokens: cap, keepVersions, store, scope }];
  });
}
