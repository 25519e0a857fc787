import type { BlockSchema, ContextBlockOptions } from "../context/block.js";
import type { ContextBlockProvider } from "../context/provider.js";
import type { SessionTool, SessionTools } from "../tools/tool.js";

declare const known: unique symbol;

/** The type of a session remembers by it the tools that `tools()` is sure to give. Nothing stands behind it at run time. */
export interface HasTools<Name extends string> {
  readonly [known]?: { readonly [N in Name]: SessionTool };
}

/** The tools of a session, those that its blocks are known to bring among them. */
export type ToolsOf<S> = S extends { readonly [known]?: infer Known }
  ? SessionTools & NonNullable<Known>
  : SessionTools;

/** The tools that a block with this provider brings. */
export type ToolsFor<P> = Writes<P> | Loads<P> | Searches<P>;

type Writes<P> = P extends { set: unknown } ? "set_context" : never;
type Loads<P> = P extends { load: unknown } ? "load_context" | "unload_context" : never;
type Searches<P> = P extends { search: unknown } ? "search_context" : never;

declare const documents: unique symbol;

/** The type of a session remembers by it its blocks with a schema. Nothing stands behind it at run time. */
export interface HasDocument<Label extends string, Value> {
  readonly [documents]?: { readonly [L in Label]: Value };
}

/** The type of the value of the block `Label` of a session: any field of it may be missing. */
export type DocumentOf<S, Label extends string> = S extends { readonly [documents]?: infer Known }
  ? Label extends keyof NonNullable<Known>
    ? Partial<NonNullable<Known>[Label]>
    : Record<string, unknown>
  : Record<string, unknown>;

type OwnOptions = Omit<ContextBlockOptions, "provider">;

/** The options of a block that the session's store keeps. */
export interface WiredBlockOptions extends OwnOptions {
  provider?: undefined;
}

/** The options of a block whose content is a JSON object. */
export interface DocumentBlockOptions<Schema extends BlockSchema> extends WiredBlockOptions {
  schema: Schema;
}

/** The options of a block with a provider of the host's. */
export interface ProvidedBlockOptions<P extends ContextBlockProvider> extends Omit<OwnOptions, "scope"> {
  provider: P;
}
