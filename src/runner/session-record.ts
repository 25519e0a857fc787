import { StemmaError } from "../errors.js";
import type { BlockKey, SessionInfo, Store } from "../storage/contract.js";
import { addUsage, totalInput } from "./models/usage.js";
import type { ExtendedUsageInfo } from "./types.js";

/** The key of `SessionState.metadata` that is ours. */
export const OURS = "stemma";

/** What a session keeps beside its messages and beyond the columns of its registry entry. */
interface Extras {
  cacheRead?: number;
  cacheWrite?: number;
  /** Absent without prices: a cost of 0 is not an unknown one. */
  priced?: true;
  metadata?: Record<string, unknown>;
}

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

  /** Starts the record of a session that was just made; a fork's does not go on from its origin's. */
  static async start(store: Store, info: SessionInfo, metadata?: Record<string, unknown>): Promise<SessionRecord> {
    const extras: Extras = metadata === undefined ? {} : { metadata };
    if (metadata !== undefined || info.parent_session_id !== null) await saveExtras(store, info.id, extras);
    return new SessionRecord(store, info, extras);
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

  get metadata(): Record<string, unknown> {
    return this.extras.metadata ?? {};
  }

  get createdAt(): number {
    return Date.parse(this.info.created_at);
  }

  get updatedAt(): number {
    return Date.parse(this.info.updated_at);
  }

  get parentId(): string | null {
    return this.info.parent_session_id;
  }

  /** Reads the entry anew. */
  async refresh(): Promise<void> {
    this.info = (await this.store.sessions.get(this.info.id)) ?? this.info;
  }

  /** Notes that the session was written to just now. */
  touch(): void {
    this.info.updated_at = new Date().toISOString();
  }

  async addUsage(spent: ExtendedUsageInfo): Promise<void> {
    const { info } = this;
    const sum = addUsage(this.usage, spent);
    const cost = spent.total_cost_usd ?? 0;
    await this.store.sessions.addUsage(info.id, totalInput(spent), spent.output_tokens, cost);
    info.input_tokens += totalInput(spent);
    info.output_tokens += spent.output_tokens;
    info.estimated_cost += cost;
    this.touch();
    const extras = { ...this.extras, ...extrasOf(sum) };
    if (JSON.stringify(extras) === JSON.stringify(this.extras)) return;
    this.extras = extras;
    await saveExtras(this.store, info.id, extras);
  }
}

/** Writes what a session's registry entry has no columns for. */
export async function writeExtras(
  store: Store,
  id: string,
  usage: ExtendedUsageInfo | undefined,
  metadata: Record<string, unknown>,
): Promise<void> {
  const extras = { ...(usage ? extrasOf(usage) : {}), ...(Object.keys(metadata).length > 0 ? { metadata } : {}) };
  if (Object.keys(extras).length > 0) await saveExtras(store, id, extras);
}

function extrasOf(usage: ExtendedUsageInfo): Extras {
  const { cache_read_input_tokens: cacheRead, cache_creation_input_tokens: cacheWrite, total_cost_usd: cost } = usage;
  return {
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(cost === undefined ? {} : { priced: true }),
  };
}

async function readExtras(store: Store, id: string): Promise<Extras> {
  const block = await store.blocks.get(extrasKey(id));
  return block === null ? {} : (JSON.parse(block.content) as Extras);
}

async function saveExtras(store: Store, id: string, extras: Extras): Promise<void> {
  await store.blocks.set(extrasKey(id), JSON.stringify(extras));
}

/** The key of the extras. It stands beside the frozen prompt, whose label is "": no block of a host can have it. */
export function extrasKey(sessionId: string): BlockKey {
  return { sessionId, kind: "prompt", label: "agent" };
}

export function sessionNotFound(id: string): StemmaError {
  return new StemmaError("SESSION_NOT_FOUND", { sessionId: id }, `Session not found: ${id}`);
}
