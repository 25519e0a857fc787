import { check, defineOptions, invalid, quote, StemmaError } from "@stemma/model";
import { assertScope, type BlockScope, type EntryFields } from "@stemma/store";
import type { WriteAction } from "../tools/tool.js";
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

/** A write that the model asks for through a tool. */
export interface ProposedWrite {
  readonly label: string;
  /** The entry's key; null for a block without keys. */
  readonly key: string | null;
  /** The name of the entry's scope, of a block with several; null for any other. */
  readonly scope: string | null;
  /** The fields of an entry that the model gives: its times, tags, and keys of entries that it supersedes. */
  readonly fact: EntryFields;
  readonly action: WriteAction;
  /** The text to be written: the whole one, the addition at its end, or of a block with a schema a JSON Merge Patch. */
  readonly content: string;
  /** The block's present text; null for an entry. */
  readonly present: string | null;
  readonly sessionId: string;
  /** The user's message that the model answers; null where it is not known. */
  readonly messageId: string | null;
  readonly toolCallId: string | null;
}

/** True writes it, false does not, a text says to the model why not, and `{ content }` is written in its place. */
export type WriteDecision = boolean | string | { readonly content: string };

export type ApproveWrite = (write: ProposedWrite) => WriteDecision | Promise<WriteDecision>;

/** Asks the host, and gives the content to be written. Errors: `WRITE_DENIED`, and what `approve` throws. */
export async function approvedContent(approve: ApproveWrite, write: ProposedWrite): Promise<string> {
  const decision = await approve(write);
  if (decision === true) return write.content;
  if (typeof decision === "object" && decision !== null && typeof decision.content === "string")
    return decision.content;
  const reason = typeof decision === "string" && decision !== "" ? ` The reason: ${decision}` : "";
  const message = `The write to "${write.label}" was not approved. Nothing was changed.${reason}`;
  throw new StemmaError("WRITE_DENIED", { label: write.label }, message);
}

/** The longest label of a block, in characters. */
export const MAX_LABEL_LENGTH = 128;

/** Every character that some reader takes for the end of a line. */
export const LINE_BREAKS = "\n\r\v\f\u001c\u001d\u001e\u0085\u2028\u2029";

const lineBreak = new RegExp(`[${LINE_BREAKS}]`);

/** Throws `INVALID_LABEL` unless `label` can stand in a header of the prompt. */
export function assertLabel(label: unknown): asserts label is string {
  if (typeof label !== "string" || label.trim() === "") throw invalidLabel(label, "must be a text that is not empty");
  if (label.length > MAX_LABEL_LENGTH) throw invalidLabel(label, `may have at most ${MAX_LABEL_LENGTH} characters`);
  if (lineBreak.test(label)) throw invalidLabel(label, "must not have a line break");
  if (label.includes("═")) throw invalidLabel(label, 'must not have "═", of which the prompt draws its lines');
  if (label.includes("\0") || !label.isWellFormed())
    throw invalidLabel(label, "must not have NUL or half of a surrogate pair");
}

/** Throws `INVALID_LABEL`, or `DUPLICATE_LABEL` when a block has that label, written as in `existing`. */
export function assertNewLabel(label: unknown, existing: string | undefined): asserts label is string {
  assertLabel(label);
  if (existing === undefined) return;
  const message = `A block "${existing}" exists already; labels differ by more than case. Choose another label than "${label}".`;
  throw new StemmaError("DUPLICATE_LABEL", { label, existing }, message);
}

function invalidLabel(label: unknown, rule: string): StemmaError {
  const message = `A block's label ${rule}; got ${typeof label === "string" ? quote(label) : typeof label}.`;
  return new StemmaError("INVALID_LABEL", { label }, message);
}
