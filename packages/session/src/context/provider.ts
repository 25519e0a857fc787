import { kindOf, overBudget, reasonOf, StemmaError } from "@stemma/model";
import type { StoredBlock, StoredVersion, VersionOptions } from "@stemma/store";
import type { SearchTimes } from "../tools/times.js";

type Awaitable<T> = T | PromiseLike<T>;

/**
 * Methods that every provider may have beside its own. They may call the session, and wait for it. Writes to a provider run
 * one after another; a read that is called while one is under way does not wait for it, as it may come from within it.
 */
interface ProviderBase {
  /**
   * The block's content: the text itself, a listing of keys, or a summary of what can be searched.
   * `null` (or `undefined`) means that there is none yet.
   */
  get(): Awaitable<string | null | undefined>;
  /** Called once with the block's label, before anything else is. */
  init?(label: string): Awaitable<void>;
  /** A provider of the same kind that is bound to one session. A session calls it with its own id. */
  forSession?(sessionId: string): ContextBlockProvider;
  /** A provider of the same kind that is bound to one user. A session of a user calls it, after `forSession`, with the user's id. */
  forUser?(userId: string): ContextBlockProvider;
}

/** A read-only block: only its host changes it. */
export interface ContextProvider extends ProviderBase {}

/** A block of text that the model may rewrite (`set_context`). */
export interface WritableContextProvider extends ProviderBase {
  /** Replaces the content. The options are for providers that keep versions; others ignore them. */
  set(content: string, options?: WriteOptions): unknown;
  /**
   * Adds to the end of the content, whoever else is writing; the session puts the line break before it. Without it a
   * session reads, joins and sets, one append at a time within the process.
   */
  append?(content: string, options?: AppendOptions): unknown;
}

export interface WriteOptions extends VersionOptions {
  /** Fail with `BLOCK_CONFLICT` unless this is the present version; 0 means "must not exist yet". */
  expectedVersion?: number | undefined;
}

export interface AppendOptions extends VersionOptions {
  /** Fail with `BLOCK_OVER_BUDGET` when the result would be larger than this estimate. */
  maxTokens?: number | undefined;
}

/** A writable provider that counts its versions. Its writes resolve to what they stored. */
export interface VersionedContextProvider extends WritableContextProvider {
  /** Content and version in one read; null when nothing was stored yet. */
  read(): Promise<StoredBlock | null>;
  set(content: string, options?: WriteOptions): Promise<StoredBlock>;
  /** Begins a new line by itself, unless `content` starts with a line break or nothing is there yet. */
  append(content: string, options?: AppendOptions): Promise<StoredBlock>;
  /** The versions that it keeps, the newest first. Without it the block has no history. */
  versions?(): Promise<StoredVersion[]>;
}

/** Documents that are listed in the prompt and read whole on demand (`load_context`, `unload_context`). */
export interface SkillProvider extends ProviderBase {
  /** The whole document, or `null` when there is none under this key. */
  load(key: string): Awaitable<string | null | undefined>;
  /** Writes a document. Without it the block is read-only. A missing description leaves a stored one as it is. */
  set?(key: string, content: string, description?: string): unknown;
  /** Adds to the end of a document; the session puts the line break before it. Without it a session loads, joins and sets. */
  append?(key: string, content: string, options?: AppendOptions): unknown;
  /** With `search` as well, the block serves both tools. */
  search?(query: string): Awaitable<string | null | undefined>;
}

/** Entries that are found by what they say (`search_context`). */
export interface SearchProvider extends ProviderBase {
  /** The entries that match, as text for the model; `null` when none does. */
  search(query: string, times?: SearchTimes): Awaitable<string | null | undefined>;
  /** True where `search` looks only between the times that it is given. Without it `search_context` takes none for the block. */
  readonly searchesByTime?: boolean;
  /** Writes an entry. Without it the block is read-only. */
  set?(key: string, content: string): unknown;
  /** Adds to the end of an entry, creating it when absent; it begins a new line by itself. */
  append?(key: string, content: string, options?: AppendOptions): unknown;
}

/** Providers of ours that search messages of conversations, the present one among them. */
export const searchesMessages = new WeakSet<object>();

/**
 * Any of the four kinds. It is one interface, and no union of them, so that the parameters of a provider that is written
 * in place get their types; which kind it is shows in its methods.
 */
export interface ContextBlockProvider extends ProviderBase {
  /** Text, or nothing; a promise of it. What a database gives has no type of its own: anything else is refused when it comes. */
  load?(key: string): unknown;
  /** Text, or nothing, as `load` gives it. */
  search?(query: string, times?: SearchTimes): unknown;
  /** True where `search` takes times. */
  readonly searchesByTime?: boolean;
  /** `(content, options?)`, or `(key, content, description?)` of a provider that loads or searches. */
  set?(first: string, second: string & WriteOptions, third?: string): unknown;
  /** `(content, options?)`, or `(key, content, options?)` of a provider that loads or searches. */
  append?(first: string, second: string & AppendOptions, third?: AppendOptions): unknown;
}

/** The abilities of a provider, told by its methods: this is the only place that looks. */
export interface ProviderShape {
  /** It can be written: the whole content, or entries by key. */
  readonly writable: boolean;
  readonly isSkill: boolean;
  readonly isSearchable: boolean;
}

export function shapeOf(provider: ContextBlockProvider): ProviderShape {
  return {
    writable: has(provider, "set"),
    isSkill: isSkillProvider(provider),
    isSearchable: isSearchProvider(provider),
  };
}

/** True for a provider whose whole content can be replaced: `set`, and neither `load` nor `search`. */
export function isWritable(provider: ContextBlockProvider): provider is WritableContextProvider {
  return has(provider, "set") && !isKeyed(provider);
}

/** True for a provider that holds entries under keys. */
export function isKeyed(provider: ContextBlockProvider): provider is SkillProvider | SearchProvider {
  return isSkillProvider(provider) || isSearchProvider(provider);
}

export function isVersioned(provider: ContextBlockProvider): provider is VersionedContextProvider {
  return isWritable(provider) && has(provider, "read") && has(provider, "append");
}

/** True for a value that can stand behind a block at all: an object with `get`. */
export function isProvider(value: unknown): value is ContextBlockProvider {
  return has(value, "get");
}

/** True for an object with `set`: whoever calls it may write, entries by key where it can `load` or `search` too. */
export function isWritableProvider(value: unknown): value is WritableContextProvider {
  return has(value, "set");
}

/** True for an object with `load`. */
export function isSkillProvider(value: unknown): value is SkillProvider {
  return has(value, "load");
}

/** True for an object with `search`. */
export function isSearchProvider(value: unknown): value is SearchProvider {
  return has(value, "search");
}

function has(value: unknown, method: string): boolean {
  if (typeof value !== "object" || value === null) return false;
  return typeof (value as Record<string, unknown>)[method] === "function";
}

/**
 * Runs one call of a provider. What it throws comes out as `PROVIDER_FAILED` with the original as `cause`; errors of our
 * own pass as they are.
 */
export async function callProvider<T>(label: string, method: string, call: () => T | PromiseLike<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (StemmaError.isInstance(cause, "BLOCK_OVER_BUDGET") && cause.details.label !== label) {
      // A store names the label under which it keeps the content, which the model does not know.
      throw overBudget(label, Number(cause.details.tokens), Number(cause.details.maxTokens));
    }
    if (StemmaError.isInstance(cause)) throw cause;
    const why = reasonOf(cause);
    const message = `The provider of "${label}" failed in ${method}(): ${why}`;
    throw new StemmaError("PROVIDER_FAILED", { label, method }, message, { cause });
  }
}

/** Runs one call of a provider that reads, as `callProvider` does: resolves to text, or to null where there is none. */
export async function readProvider(label: string, method: string, call: () => unknown): Promise<string | null> {
  const value = await callProvider(label, method, call);
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return value;
  const message = `The provider of "${label}" gave no text from ${method}(), but ${kindOf(value)}.`;
  throw new StemmaError("PROVIDER_FAILED", { label, method }, message);
}
