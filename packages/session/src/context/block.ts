import { check, defineOptions, invalid } from "@stemma/model";
import type { BlockScope } from "@stemma/store";
import { assertScope } from "@stemma/store";
import type { ApproveWrite } from "./approval.js";
import { type ContextBlockProvider, isKeyed, isProvider } from "./provider.js";
/**
 * The budget of a block that sets no `maxTokens`, in estimated tokens: of the whole content, or of each entry of a
 * keyed block.
 */
export const DEFAULT_MAX_TOKENS = 50_000;

export interface ContextBlockOptions {
  /** The block's purpose, shown to the model in the prompt and in the tools. */
  description?: string | undefined;
  /**
   * The largest content that may be written, in estimated tokens, shown to the model; on keyed blocks it bounds each
   * entry. Without it nothing is shown and `DEFAULT_MAX_TOKENS` applies.
   */
  maxTokens?: number | undefined;
  /** Where the content comes from. Without one the block is kept in the session's store, and the model may write it. */
  provider?: ContextBlockProvider | undefined;
  /**
   * Whose a block without a provider is: the session's (`"session"`, the default), its user's in all of the user's sessions
   * (`"user"`), or that of every session whose block names this key.
   */
  scope?: BlockScope | undefined;
  /**
   * How many versions are kept of the block, or of each of its entries, the present one among them: `getBlockHistory` shows
   * them. Default 50; 0 keeps none.
   */
  keepVersions?: number | undefined;
  /**
   * Makes the content a JSON object of this zod schema, each field of which may be missing. `set_context` takes a JSON Merge
   * Patch: the fields that change, null for one that goes. What does not fit is refused.
   */
  schema?: BlockSchema | undefined;
  /**
   * Asked before a tool of the model writes to the block; the tool waits for the answer. `"user"`: the tool asks as one with
   * `needsApproval` does, in the AI SDK and in the session runner. Default: nobody is asked.
   */
  approve?: ApproveWrite | "user" | undefined;
  /** `"remind"`: `reminder()` tells the model when the content is no longer what the frozen prompt shows. */
  whenChanged?: "remind" | undefined;
}

/**
 * The configuration of a block: the names of its options are checked at once, the rest when the session is first used. A label may be
 * there too: a whole `ContextConfig` is often what is at hand.
 */
export const BLOCK = defineOptions<Partial<ContextConfig>>({
  label: check.anything,
  description: check.text,
  maxTokens: check.whole(1),
  provider: check.rule("an object with get()", isProvider),
  scope: assertScope,
  keepVersions: check.whole(0),
  schema: check.anything,
  approve: check.rule('a function, or "user"', (value) => value === "user" || typeof value === "function"),
  whenChanged: check.oneOf("remind"),
});

export interface ContextConfig extends ContextBlockOptions {
  label: string;
}

/** A block as last read. */
export interface ContextBlock {
  label: string;
  description?: string;
  /** The text, the listing of keys or the summary; "" when there is none. */
  content: string;
  /** Estimated tokens of `content`. */
  tokens: number;
  maxTokens?: number;
  /** The model can write it: the whole content, or entries by key. */
  writable: boolean;
  isSkill: boolean;
  isSearchable: boolean;
  /** Grows with every write. Present once the block was stored, where its provider counts versions. */
  version?: number;
}

/** Throws `INVALID_ARGUMENT` for options that no block can have. */
export function assertBlockOptions(config: ContextConfig): void {
  const { label, provider, scope, schema } = config;
  BLOCK.assert(config, `block "${label}"`);
  if (provider === undefined) return;
  const wrong = (rule: string) => invalid(`Block "${label}": ${rule}.`, { label });
  if (schema !== undefined && isKeyed(provider)) throw wrong("a block that holds entries takes no schema");
  if (scope !== undefined) throw wrong("a provider keeps what it is made for; leave scope out");
}

/**
 * A schema of zod (4.2 or newer) for an object, as `z.object({ … })` makes it, by what Stemma uses of it: so the package
 * works without zod, and takes that of the host.
 */
export interface BlockSchema<Value = unknown> {
  readonly "~standard": { readonly vendor: string; readonly types?: { readonly output: Value } | undefined };
  /** A schema of the same object with every field optional. */
  partial(): unknown;
}

/** The type of the objects that a schema of the host's reads. */
export type ValueOfSchema<Schema extends BlockSchema> = NonNullable<Schema["~standard"]["types"]>["output"];

/** The schema that `partial()` gives. */
export interface PartialSchema {
  readonly def: { readonly catchall?: unknown };
  readonly "~standard": {
    readonly jsonSchema: { input(options: { target: string; libraryOptions?: object }): Record<string, unknown> };
  };
  strict(): PartialSchema;
  safeParse(value: unknown): { success: true; data: unknown } | { success: false; error: { issues: readonly Issue[] } };
}

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}
