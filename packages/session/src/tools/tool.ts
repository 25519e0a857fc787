// One form of tools, whole: how their inputs are described, read and answered.
import {
  findJson,
  isJsonObject,
  type JsonObject,
  quote,
  quoteField,
  reasonOf,
  sendableText,
  shorten,
} from "@stemma/model";
import type { EntryFact, EntryFields } from "@stemma/store";
import type { SearchTimes } from "./times.js";

/** A caller's options of a call. The AI SDK passes more, which is not read. */
export interface ToolCallOptions {
  toolCallId?: string | undefined;
  /** Aborted, a search waits for the reranker no longer. */
  abortSignal?: AbortSignal | undefined;
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
  /** The input as models are shown it. */
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

/** A block as the tools need to know it; none of it changes while the block is there. */
export interface ToolBlock {
  readonly label: string;
  readonly description?: string;
  readonly maxTokens?: number;
  readonly writable: boolean;
  readonly isSkill: boolean;
  readonly isSearchable: boolean;
  /** It is searched between times, too. */
  readonly searchesByTime?: boolean;
  /** Its entries have times, tags and predecessors. */
  readonly keepsFacts?: boolean;
  /** The names of its scopes, where they have some: those that may be written, the default one first, and the others. */
  readonly scopes?: { readonly writable: readonly string[]; readonly readOnly: readonly string[] };
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
  /** The name of its scope, in any case. Default: the one that is written. */
  readonly scope?: string | undefined;
  /** Fields that are written with it. What it supersedes is named by keys or titles. */
  readonly fact?: EntryFields | undefined;
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
  writeEntry(label: string, entry: ToolEntry, action: WriteAction, call: ToolCallOptions): Promise<WrittenEntry>;
  /**
   * The key of the entry that a title names: the title itself where the block's listing, as last read, shows it as a key or an
   * entry of the scope has it, else the one that is made of it. Errors: `BLOCK_READONLY`, `INVALID_TEXT`.
   */
  keyOf(label: string, title: string, scope: string | undefined): Promise<string>;
  /** A whole document; null when there is none under this key. */
  loadEntry(label: string, key: string): Promise<string | null>;
  /** The entries that match, as text; null when none does. */
  searchEntries(label: string, query: string, times: SearchTimes): Promise<string | null>;
  /** Where loads are recorded; null when the session has nowhere to keep them. */
  readonly skills: SkillLog | null;
}

/** The size of a block after a write, in estimated tokens. */
interface WrittenBlock {
  readonly tokens: number;
  readonly maxTokens?: number;
}

/** An entry after a write. */
export interface WrittenEntry {
  /** The name of its scope; undefined where the block names none. */
  readonly scope?: string | undefined;
  /** Its times as they are stored; undefined where the block keeps none. */
  readonly times?: EntryTimes | undefined;
  /** Its times before the write; undefined where it is new, or the block keeps none. */
  readonly before?: EntryTimes | undefined;
}

/** When an entry holds and when it is forgotten. */
export type EntryTimes = Pick<EntryFact, "validFrom" | "validTo" | "expiresAt">;

/** A block that says something else than the model was shown, so that nothing was written. */
export interface ConflictingBlock {
  /** The present text. */
  readonly present: string;
}

/** Remembers which documents the model has loaded, so that an unload can take them out of what it sees. */
export interface SkillLog {
  /** Records a load, with the id of the tool call whose result holds the document. */
  load(label: string, key: string, toolCallId?: string): Promise<void>;
  /** The loaded documents, the latest load last. */
  loaded(): Promise<readonly { readonly label: string; readonly key: string }[]>;
  /** Marks a document as unloaded. Resolves to false when it was not loaded. */
  unload(label: string, key: string): Promise<boolean>;
}

/**
 * Reads what a model sent for a tool. Models write out what they leave out, and numbers as text, so this is read as it is
 * meant: null, "" and "null" of an optional argument are absence; a number, true, false, a list or an object in a text is
 * that; a number where a text is wanted is its text; one of a few names may be in any case. An argument that the schema does
 * not name is a problem, unless it is absent: what a misspelt one says would be lost.
 */
export function readInput<const S extends ObjectSchema>(schema: S, given: unknown): Reading<ValueOf<S>> {
  const problems: string[] = [];
  const value = readField(schema, isAbsent(given) ? {} : given, "", problems);
  return problems.length === 0 ? { value: value as ValueOf<S> } : { problem: `${problems.join("; ")}.` };
}

function readField(schema: FieldSchema, given: unknown, path: string, problems: string[]): unknown {
  const value = named(schema, convert(schema.type, given));
  if (!fits(schema, value)) {
    problems.push(`${path || "the input"} must be ${wanted(schema)}, not ${shown(given)}`);
  } else if (schema.type === "array") {
    return (value as unknown[]).map((item, index) => readField(schema.items, item, `${path}[${index}]`, problems));
  } else if (schema.type === "object") {
    return readObject(schema, value as JsonObject, path, problems);
  }
  return value;
}

function readObject(schema: ObjectSchema, given: JsonObject, path: string, problems: string[]): JsonObject {
  const read: JsonObject = {};
  for (const [name, field] of Object.entries(schema.properties)) {
    const value = given[name];
    const at = path === "" ? name : `${path}.${name}`;
    if (!schema.required?.includes(name)) {
      if (!isAbsent(value)) read[name] = readField(field, value, at, problems);
    } else if (value === undefined || value === null) {
      const what = field.description === undefined ? "" : ` (${field.description.replace(/\.$/, "")})`;
      problems.push(`${at} is missing: send ${wanted(field)}${what}`);
    } else {
      read[name] = readField(field, value, at, problems);
    }
  }
  const unknown = Object.keys(given).filter(
    (name) => !Object.hasOwn(schema.properties, name) && !isAbsent(given[name]),
  );
  if (unknown.length > 0) {
    const names = unknown.slice(0, MOST_NAMED).map((name) => quoteField(shorten(name, MOST_OF_NAME)));
    const known = Object.keys(schema.properties).join(", ");
    problems.push(`${path || "the input"} takes no ${names.join(", ")}: its fields are ${known}`);
  }
  return read;
}

/** So many unknown arguments are named, and so many characters of each. */
const MOST_NAMED = 5;
const MOST_OF_NAME = 64;

/** True for what models send for an argument that they leave out. */
function isAbsent(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === "string" && ["", "null"].includes(value.trim());
}

/** A value in the type that is wanted, where it is written in another one. */
export function convert(type: FieldSchema["type"], value: unknown): unknown {
  if (type === "string") return typeof value === "number" || typeof value === "boolean" ? String(value) : value;
  if (typeof value !== "string") return value;
  return type === "boolean" ? findJson(value.toLowerCase()) : findJson(value);
}

/** The member of an `enum` that a text names. */
function named(schema: FieldSchema, value: unknown): unknown {
  if (schema.type !== "string" || schema.enum === undefined || typeof value !== "string") return value;
  const name = value.trim().toLowerCase();
  return schema.enum.find((member) => member === value || member.toLowerCase() === name) ?? value;
}

function fits(schema: FieldSchema, value: unknown): boolean {
  switch (schema.type) {
    case "string": {
      const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema;
      if (typeof value !== "string" || value.length < minLength || value.length > maxLength) return false;
      if (minLength > 0 && value.trim() === "") return false;
      return schema.enum === undefined || schema.enum.includes(value);
    }
    case "boolean":
      return typeof value === "boolean";
    case "array":
      return Array.isArray(value) && value.length <= (schema.maxItems ?? Number.POSITIVE_INFINITY);
    case "object":
      return isJsonObject(value);
    default: {
      const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
      if (!(schema.type === "integer" ? Number.isSafeInteger(value) : Number.isFinite(value))) return false;
      return (value as number) >= minimum && (value as number) <= maximum;
    }
  }
}

/** Says in words what is to be sent. */
function wanted(schema: FieldSchema): string {
  switch (schema.type) {
    case "string": {
      if (schema.enum !== undefined) return `one of ${schema.enum.join(", ")}`;
      const { minLength = 0, maxLength } = schema;
      if (maxLength !== undefined) return `a text of ${minLength} to ${maxLength} characters`;
      return minLength === 0 ? "a text" : "a text that is not empty";
    }
    case "boolean":
      return "true or false";
    case "array":
      return `a list${schema.maxItems === undefined ? "" : ` of up to ${schema.maxItems}`}`;
    case "object":
      return `an object with ${(schema.required ?? Object.keys(schema.properties)).join(", ")}`;
    default: {
      const least = schema.minimum === undefined ? "" : ` from ${schema.minimum} on`;
      const range = schema.maximum === undefined ? least : ` from ${schema.minimum ?? 0} to ${schema.maximum}`;
      return `a ${schema.type === "integer" ? "whole " : ""}number${range}`;
    }
  }
}

function shown(value: unknown): string {
  if (typeof value === "string" && value.length > 200) return `one of ${value.length} characters`;
  return typeof value === "string" ? quote(value) : quote(JSON.stringify(value) ?? typeof value);
}

/** The part of JSON Schema in which tools say what they take: models are shown it, and `readInput` reads by it. */
export type FieldSchema = { readonly description?: string } & (
  | {
      readonly type: "string";
      readonly minLength?: number;
      readonly maxLength?: number;
      readonly enum?: readonly string[];
    }
  | { readonly type: "number" | "integer"; readonly minimum?: number; readonly maximum?: number }
  | { readonly type: "boolean" }
  | { readonly type: "array"; readonly items: FieldSchema; readonly maxItems?: number }
  | ObjectSchema
);

export interface ObjectSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties: false;
}

type Shape = Readonly<Record<string, unknown>>;
type Named<R> = R extends readonly (infer Name)[] ? Name : never;
type ObjectOf<P extends Shape, R> = {
  [K in keyof P as K extends R ? K : never]: ValueOf<P[K]>;
} & { [K in keyof P as K extends R ? never : K]?: ValueOf<P[K]> };

/** The type of what `readInput` makes of an input with this schema. */
export type ValueOf<S> = S extends { readonly enum: readonly (infer Member)[] }
  ? Member
  : S extends { readonly type: "string" }
    ? string
    : S extends { readonly type: "number" | "integer" }
      ? number
      : S extends { readonly type: "boolean" }
        ? boolean
        : S extends { readonly items: infer Item }
          ? ValueOf<Item>[]
          : S extends { readonly properties: infer P extends Shape; readonly required?: infer R }
            ? ObjectOf<P, Named<R>>
            : never;

/** The words of a search. */
export const QUERY = {
  type: "string",
  minLength: 1,
  description: "Plain words. Not all of them need to occur.",
} as const;

/** An input as a tool reads it, or what is to be sent instead. */
type Reading<Value> = { readonly value: Value } | { readonly problem: string };

/** The schema of an object. What is not `required` may be left out. */
export function objectSchema<
  const P extends Readonly<Record<string, FieldSchema>>,
  const R extends keyof P & string = never,
>(properties: P, required: readonly R[] = []) {
  const needed = required.length === 0 ? {} : { required };
  return {
    type: "object",
    properties,
    ...(needed as { readonly required: readonly R[] }),
    additionalProperties: false,
  } as const;
}

/**
 * A schema that frameworks read: a Standard Schema with a JSON Schema, https://standardschema.dev. Zod, or whatever else is
 * behind another schema, is not needed for it.
 */
export interface ToolSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    /** Never refuses: what a tool cannot read it answers itself, with a text that says what to send. */
    readonly validate: (value: unknown) => { readonly value: unknown; readonly issues?: undefined };
    /** A copy each time: the AI SDK writes into what it gets. All dialects say the same of what a tool takes. */
    readonly jsonSchema: {
      readonly input: (options?: { readonly target: string }) => Record<string, unknown>;
      readonly output: (options?: { readonly target: string }) => Record<string, unknown>;
    };
  };
}

/** The schema as frameworks read it, which pass on what `read` makes of an input, or the input as it is where it cannot. */
export function toolSchema(schema: object, read: (given: unknown) => Reading<unknown>): ToolSchema {
  const copy = () => structuredClone(schema) as Record<string, unknown>;
  const validate = (given: unknown) => {
    const reading = read(given);
    return { value: "problem" in reading ? given : reading.value };
  };
  return { "~standard": { version: 1, vendor: "stemma", validate, jsonSchema: { input: copy, output: copy } } };
}
