import { type SessionMetadata, StemmaError, sameJson, splitMetadata } from "@stemma/model";
import type { BlockKey, SessionInfo, Store } from "@stemma/store";
import { addUsage, totalInput } from "./models/model.js";
import type { ExtendedUsageInfo, SDKMessage, SessionState } from "./types.js";

/** The key of `SessionState.metadata` that is ours. */
export const OURS = "stemma";

/** The registry entry of a running session: its usage, its metadata, its times. */
export class SessionRecord {
  private constructor(
    private readonly store: Store,
    private info: SessionInfo,
    private extras: Extras,
  ) {}

  /** Errors: `SESSION_NOT_FOUND`. */
  static async open(store: Store, id: string): Promise<SessionRecord> {
    const info = await store.sessions.get(id);
    if (info === null) throw sessionNotFound(id);
    return new SessionRecord(store, info, await readExtras(store, id));
  }

  get usage(): ExtendedUsageInfo {
    const { cacheRead = 0, cacheWrite = 0, priced } = this.extras;
    const usage: ExtendedUsageInfo = {
      input_tokens: this.info.input_tokens - cacheRead - cacheWrite,
      output_tokens: this.info.output_tokens,
    };
    if (cacheWrite > 0) usage.cache_creation_input_tokens = cacheWrite;
    if (cacheRead > 0) usage.cache_read_input_tokens = cacheRead;
    if (priced || this.info.estimated_cost !== 0) usage.total_cost_usd = this.info.estimated_cost;
    return usage;
  }

  get metadata(): SessionMetadata {
    const { [OURS]: _ours, ...held } = this.info.metadata;
    return { ...this.extras.beside, ...held };
  }

  get source(): string | undefined {
    return this.info.source ?? undefined;
  }

  /** A snapshot of the session, with these messages. */
  stateWith(messages: SDKMessage[]): SessionState {
    const { id, created_at, updated_at, parent_session_id: parentId } = this.info;
    const times = { createdAt: Date.parse(created_at), updatedAt: Date.parse(updated_at) };
    const state = { id, messages, usage: this.usage, metadata: this.metadata, ...times };
    return parentId === null ? state : { ...state, parentId };
  }

  async refresh(): Promise<void> {
    this.info = (await this.store.sessions.get(this.info.id)) ?? this.info;
  }

  /** Notes that the session was written to just now. */
  touch(): void {
    this.info.updated_at = new Date().toISOString();
  }

  async addUsage(spent: ExtendedUsageInfo, model: string): Promise<void> {
    const { info } = this;
    const counts = countsOf(addUsage(this.usage, spent));
    const cost = spent.total_cost_usd ?? 0;
    await this.store.sessions.addUsage(info.id, totalInput(spent), spent.output_tokens, cost, model);
    info.input_tokens += totalInput(spent);
    info.output_tokens += spent.output_tokens;
    info.estimated_cost += cost;
    this.touch();
    await this.#save({ ...this.extras, ...counts });
  }

  /** Sets the counts of a usage that the registry has no columns for. */
  async setCounts(usage: ExtendedUsageInfo): Promise<void> {
    await this.#save({ beside: this.extras.beside, ...countsOf(usage) });
  }

  /** Replaces the metadata: in the registry, and beside it what that cannot hold. */
  async setMetadata(metadata: SessionMetadata): Promise<void> {
    const { id, metadata: present } = this.info;
    const { held, rest } = splitMetadata(metadata);
    const gone = Object.keys(present).filter((field) => field !== OURS && !Object.hasOwn(held, field));
    const changed = Object.entries(held).filter(([field, value]) => !sameJson(present[field], value));
    const change = Object.fromEntries([...changed, ...gone.map((field) => [field, null])]);
    if (Object.keys(change).length > 0) this.info = await this.store.sessions.update(id, { metadata: change });
    const beside = Object.keys(rest).length > 0 ? rest : undefined;
    await this.#save({ ...this.extras, beside });
  }

  async #save(extras: Extras): Promise<void> {
    if (sameJson(extras, this.extras)) return;
    await saveExtras(this.store, this.info.id, extras);
    this.extras = extras;
  }
}

function sessionNotFound(id: string): StemmaError {
  return new StemmaError("SESSION_NOT_FOUND", { sessionId: id }, `Session not found: ${id}`);
}

/** Counts of a session's usage beyond the columns of its registry entry. */
export interface Counts {
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
  /** Absent without prices: a cost of 0 is not an unknown one. */
  priced?: true | undefined;
}

/** Fields of a session beside its messages and its registry entry. */
interface Extras extends Counts {
  /** The fields of the metadata that the registry cannot hold. */
  beside?: SessionMetadata | undefined;
}

/** A fork copies blocks, but starts its own usage: so the counts say whose they are. */
type StoredExtras = Extras & { readonly countedFor?: string };

async function readExtras(store: Store, id: string): Promise<Extras> {
  const block = await store.blocks.get(extrasKey(id));
  if (block === null) return {};
  const { countedFor = id, beside, ...counts } = JSON.parse(block.content) as StoredExtras;
  return { ...(countedFor === id ? counts : {}), beside };
}

async function saveExtras(store: Store, id: string, extras: Extras): Promise<void> {
  const stored: StoredExtras = { ...extras, countedFor: id };
  await store.blocks.set(extrasKey(id), JSON.stringify(stored));
}

function countsOf(usage: ExtendedUsageInfo): Counts {
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
