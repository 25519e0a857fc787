import { reasonOf, sendableText, shorten } from "@stemma/model";
import { type ObjectSchema, type Reading, type ToolSchema, toolSchema, type ValueOf } from "./input-schema.js";
import { readInput } from "./read-input.js";
/** What a caller tells about a call. The AI SDK passes more, which is not read. */
export interface ToolCallOptions {
  toolCallId?: string | undefined;
}

/** A tool of the AI SDK, without depending on it. `execute` never rejects: a refusal is text that starts with `Error:`. */
export interface SessionTool {
  description: string;
  /** The input as a Standard Schema with a JSON Schema, which frameworks read. */
  inputSchema: ToolSchema;
  execute(input: unknown, options?: ToolCallOptions): Promise<string>;
  /** True for a call that the user is asked about first. Left out where no call is. */
  needsApproval?(input: unknown): boolean;
}

/** Tools by their names, to be spread beside the host's own. */
export type SessionTools = Record<string, SessionTool>;

export interface ToolDefinition<Schema extends ObjectSchema> {
  readonly description: string;
  /** What models are shown. */
  readonly input: Schema;
  /** Reads what a model sent, where that is more than `input` says. */
  readonly read?: (given: unknown) => Reading<ValueOf<Schema>>;
  readonly run: (input: ValueOf<Schema>, options: ToolCallOptions) => Promise<string>;
}

/** Builds a tool from what it does with what it could read. What `run` throws becomes its answer to the model, which holds no half of a surrogate pair. */
export function createTool<Schema extends ObjectSchema>(definition: ToolDefinition<Schema>): SessionTool {
  const { description, input, run, read = (given) => readInput(input, given) } = definition;
  return {
    description: sendableText(description),
    inputSchema: toolSchema(input, read),
    async execute(given, options) {
      try {
        const reading = read(given);
        return "problem" in reading ? refusal(reading.problem) : sendableText(await run(reading.value, options ?? {}));
      } catch (error) {
        return refusal(shorten(reasonOf(error), MAX_REASON));
      }
    },
  };
}

/** Characters of what another program's error says. */
const MAX_REASON = 2000;

/** The text of a refusal. */
export function refusal(reason: string): string {
  return sendableText(`Error: ${reason}`);
}

/** What the tools need to know of a block; none of it changes while the block is there. */
export interface ToolBlock {
  readonly label: string;
  readonly description?: string;
  readonly maxTokens?: number;
  readonly writable: boolean;
  readonly isSkill: boolean;
  readonly isSearchable: boolean;
  /** The user is asked before the model writes. */
  readonly asksUser?: boolean;
  /** Of a block whose content is a JSON object: the JSON Schema of a JSON Merge Patch for it. */
  readonly patchSchema?: Record<string, unknown>;
}

/** An entry of a keyed block. */
export interface ToolEntry {
  readonly key: string;
  readonly content: string;
  readonly description?: string | undefined;
}

export type WriteAction = "replace" | "append";

/**
 * The blocks as the tools act on them. Labels are matched without regard to case. What a
 * method throws is a `StemmaError` whose message says what to do: the tools pass it on to the model.
 */
export interface ContextAccess {
  /** The block with this label. Errors: `BLOCK_NOT_FOUND`. */
  toolBlock(label: string): ToolBlock;
  /** Writes the whole content of a block without keys, or patches that of one with a schema. What the model has not seen is not replaced. */
  write(
    label: string,
    content: string,
    action: WriteAction,
    call: ToolCallOptions,
  ): Promise<WrittenBlock | ConflictingBlock>;
  /** Writes one entry of a keyed block. */
  writeEntry(label: string, entry: ToolEntry, action: WriteAction, call: ToolCallOptions): Promise<void>;
  /** True when the block's listing, as last read, shows this very key. */
  lists(label: string, key: string): boolean;
  /** A whole document; null when there is none under this key. */
  loadEntry(label: string, key: string): Promise<string | null>;
  /** The entries that match, as text; null when none does. */
  searchEntries(label: string, query: string): Promise<string | null>;
  /** Where loads are recorded; null when the session has nowhere to keep them. */
  readonly skills: SkillLog | null;
}

/** The size of a block after a write, in estimated tokens. */
interface WrittenBlock {
  readonly tokens: number;
  readonly maxTokens?: number;
}

/** A block that says something else than the model was shown, so that nothing was written. */
export interface ConflictingBlock {
  /** What it says now. */
  readonly present: string;
}

/** Remembers which documents the model has loaded, so that an unload can take them out of what it sees. */
export interface SkillLog {
  /** Records a load, with the id of the tool call whose result holds the document. */
  load(label: string, key: string, toolCallId?: string): Promise<void>;
  /** What is loaded, the latest load last. */
  loaded(): Promise<readonly { readonly label: string; readonly key: string }[]>;
  /** Marks a document as unloaded. Resolves to false when it was not loaded. */
  unload(label: string, key: string): Promise<boolean>;
}
