import type { SessionMetadata } from "@stemma/model";
import type { BlockKey, Store } from "@stemma/store";
import type { ExtendedUsageInfo } from "./types.js";

/** Counts of a session's usage beyond the columns of its registry entry. */
export interface Counts {
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
  /** Absent without prices: a cost of 0 is not an unknown one. */
  priced?: true | undefined;
}

/** Fields of a session beside its messages and its registry entry. */
export interface Extras extends Counts {
  /** The fields of the metadata that the registry cannot hold. */
  beside?: SessionMetadata | undefined;
}

/** A fork copies blocks, but starts its own usage: so the counts say whose they are. */
type StoredExtras = Extras & { readonly countedFor?: string };

export async function readExtras(store: Store, id: string): Promise<Extras> {
  const block = await store.blocks.get(extrasKey(id));
  if (block === null) return {};
  const { countedFor = id, beside, ...counts } = JSON.parse(block.content) as StoredExtras;
  return { ...(countedFor === id ? counts : {}), beside };
}

export async function saveExtras(store: Store, id: string, extras: Extras): Promise<void> {
  const stored: StoredExtras = { ...extras, countedFor: id };
  await store.blocks.set(extrasKey(id), JSON.stringify(stored));
}

export function countsOf(usage: ExtendedUsageInfo): Counts {
  const { cache_read_input_tokens: cacheRead, cache_creation_input_tokens: cacheWrite, total_cost_usd: cost } = usage;
  return {
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(cost === undefined ? {} : { priced: true }),
  };
}

/** The key of the extras. It stands beside the frozen prompt, whose label is "": no block of a host can have it. */
export function extrasKey(sessionId: string): BlockKey {
  return { sessionId, kind: "prompt", label: "agent" };
}
