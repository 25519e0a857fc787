import { foldLabel, isJsonObject, keyOfContent, quote, quoteField, shorten } from "@stemma/model";
import type { EntryFields } from "@stemma/store";
import { readTimes, TIMES } from "./times.js";
import {
  type ContextAccess,
  createTool,
  type EntryTimes,
  type FieldSchema,
  objectSchema,
  QUERY,
  readInput,
  refusal,
  type SessionTool,
  type SessionTools,
  type ToolBlock,
  type WrittenEntry,
} from "./tool.js";

/** `set_context`: writes a block, or one entry of a keyed block. Null when no block can be written. */
function createSetContextTool(present: readonly ToolBlock[], context: ContextAccess): SessionTool | null {
  const blocks = present.filter((block) => block.writable);
  if (blocks.length === 0) return null;
  const { input, read } = blockInput(blocks, fieldsFor(blocks), ["content"]);
  const tool = createTool({
    description: describe(blocks),
    input,
    read,
    async run({ label, content, action = "replace", scope, metadata = {} }, call) {
      const block = context.toolBlock(label);
      const { title, description, ...given } = metadata;
      const fact = withoutEmpty(given);
      const unknown = unknownIn(block, { scope, ...fact }, action);
      if (unknown !== null) return refusal(unknown);
      if (!isKeyed(block)) {
        const written = await context.write(block.label, content, action, call);
        if ("present" in written) return refusal(conflict(block.label, written.present));
        const did = block.patchSchema !== undefined ? "Patched" : action === "append" ? "Appended to" : "Replaced";
        return `${did} ${block.label}${usage(written)}.`;
      }
      if (content.trim() === "") return refusal(`an entry of ${block.label} needs a content that is not blank.`);
      const key = isBlank(title) ? keyOfContent(content) : await context.keyOf(block.label, title, scope);
      const written = await context.writeEntry(block.label, { key, content, description, scope, fact }, action, call);
      const where = written.scope === undefined ? "" : ` (${written.scope})`;
      const did = action === "append" ? "Appended to" : "Wrote";
      return `${did} entry ${quote(key)} in ${block.label}${where}.${whyHidden(written)}`;
    },
  });
  const asking = new Set(blocks.filter(({ asksUser }) => asksUser).map(({ label }) => foldLabel(label)));
  if (asking.size === 0) return tool;
  const needsApproval = (given: unknown) => {
    const reading = read(given);
    return "value" in reading && asking.has(foldLabel(reading.value.label));
  };
  return { ...tool, needsApproval };
}

const TIME = { type: "string", maxLength: 64 } as const;
const TEXTS = { type: "array", items: { type: "string" }, maxItems: 25 } as const;

/** The time, the predecessors and the tags of an entry, for blocks that keep them. */
const FACT = {
  validFrom: { ...TIME, description: "Since when it is true: 2026-05-01, or 2026-05-01T14:00Z." },
  validTo: { ...TIME, description: "Until when, exclusive." },
  expiresAt: { ...TIME, description: "When to forget it." },
  supersedes: { ...TEXTS, description: "Titles of entries that this one makes untrue: they end where it begins." },
  tags: { ...TEXTS, description: "Words to file it under." },
} as const satisfies Record<keyof Omit<EntryFields, "origin">, FieldSchema>;

const FIELDS = {
  content: { type: "string", description: "The text to write." },
  action: {
    type: "string",
    enum: ["replace", "append"],
    description:
      '"replace" (the default) writes the whole content anew; "append" adds the text to the end, on a new line.',
  },
  scope: {
    type: "string",
    description: "Of a block with scopes, the one to write to. Default: the first that is listed.",
  },
  metadata: {
    ...objectSchema({
      title: {
        type: "string",
        description:
          "Names an entry, best in lower case with hyphens (deploy-checklist). The same title updates the entry.",
      },
      description: { type: "string", description: "One line on what an entry holds, for its listing." },
      ...FACT,
    }),
    description: "For blocks that hold entries.",
  },
} as const;

/** The fields that these blocks can take. */
function fieldsFor(blocks: readonly ToolBlock[]): typeof FIELDS {
  const { scope, metadata, ...fields } = FIELDS;
  const { title, description } = metadata.properties;
  const keepFacts = blocks.some(({ keepsFacts }) => keepsFacts === true);
  const shown = {
    ...fields,
    ...(blocks.some(({ scopes }) => scopes !== undefined) && { scope }),
    metadata: keepFacts ? metadata : { ...metadata, properties: { title, description } },
  };
  return shown as typeof FIELDS;
}

// Models that write out every field mean by an empty list that they say nothing of it.
function withoutEmpty(fact: EntryFields): EntryFields {
  return Object.fromEntries(Object.entries(fact).filter(([, value]) => !Array.isArray(value) || value.length > 0));
}

/** Says what a block cannot take of what a model sent; null where it takes all. */
function unknownIn(
  block: ToolBlock,
  given: { readonly scope?: string | undefined } & EntryFields,
  action: string,
): string | null {
  const { scope, ...fact } = given;
  if (scope !== undefined && block.scopes === undefined) return `${block.label} has no scopes: leave scope out.`;
  const names = Object.keys(fact).join(", ");
  if (names === "") return null;
  if (block.keepsFacts !== true) return `${block.label} keeps no times or tags: leave out ${names}.`;
  return action === "append" ? `append adds text only: replace the entry to write ${names}.` : null;
}

function describe(blocks: readonly ToolBlock[]): string {
  const note = (block: ToolBlock) => {
    const budget = block.maxTokens === undefined ? "" : `, at most ${block.maxTokens} tokens`;
    if (block.patchSchema !== undefined) return ` (${patchNote(block.patchSchema)}${budget})`;
    return isKeyed(block) ? ` (entries by title${budget} each${scopesNote(block)})` : ` (text${budget})`;
  };
  return `Save something to a context block, to remember it beyond this conversation.\nBlocks:\n${listBlocks(blocks, note)}`;
}

// The scope that is written where none is named comes first.
function scopesNote({ scopes }: ToolBlock): string {
  if (scopes === undefined) return "";
  return `; scopes ${scopes.writable.join(", ")}${scopes.readOnly.length === 0 ? "" : `; read-only ${scopes.readOnly.join(", ")}`}`;
}

function patchNote(schema: object): string {
  return `a JSON object: give as content a JSON Merge Patch with the fields that change, null to remove one; its JSON Schema: ${JSON.stringify(schema)}`;
}

function isKeyed(block: ToolBlock): boolean {
  return block.isSkill || block.isSearchable;
}

/** Says why an entry is not shown now, as its times are after a write, or that it is shown again; "" where nothing is to be said. */
function whyHidden({ times, before }: WrittenEntry): string {
  if (times === undefined) return "";
  const now = new Date().toISOString();
  const over = overSince(times, now);
  const why =
    over ?? (times.validFrom !== null && times.validFrom > now ? `it only begins at ${times.validFrom}` : null);
  if (why !== null) return ` It is not shown now, and searches leave it out: ${why}.`;
  const was = before === undefined ? null : overSince(before, now);
  return was === null ? "" : ` It was not shown before (${was}), and holds again now.`;
}

function overSince({ validTo, expiresAt }: EntryTimes, now: string): string | null {
  if (expiresAt !== null && expiresAt <= now) return `it expired at ${expiresAt}`;
  return validTo !== null && validTo <= now ? `it ended at ${validTo}` : null;
}

const isBlank = (title: string | undefined): title is undefined => title === undefined || title.trim() === "";

// The content comes last: nothing in it can pass for the tool's own words.
function conflict(label: string, present: string): string {
  const now = present === "" ? "It is empty now." : `It now reads:\n\n${present}`;
  return `${label} was changed since you were shown it, and nothing was written. Put what is new into its present text and replace it again, or append. ${now}`;
}

function usage({ tokens, maxTokens }: { tokens: number; maxTokens?: number }): string {
  return maxTokens === undefined ? "" : ` (${Math.round((tokens / maxTokens) * 100)}% — ${tokens}/${maxTokens} tokens)`;
}

/** Every tool that blocks bring along. A factory returns null when no present block calls for its tool. */
const CONTEXT_TOOLS: Record<string, (present: readonly ToolBlock[], context: ContextAccess) => SessionTool | null> = {
  set_context: createSetContextTool,
  load_context: createLoadContextTool,
  unload_context: createUnloadContextTool,
  search_context: createSearchContextTool,
};

/**
 * The tools that the `present` blocks call for, in their order. What they say of themselves depends on labels, descriptions and budgets
 * only: it is part of the model's cached prefix.
 */
export function createContextTools(present: readonly ToolBlock[], context: ContextAccess): SessionTools {
  const tools: SessionTools = {};
  for (const [name, create] of Object.entries(CONTEXT_TOOLS)) {
    const tool = create(present, context);
    if (tool) tools[name] = tool;
  }
  return tools;
}

/** `load_context`: reads a whole document. Null when no block holds documents. */
function createLoadContextTool(present: readonly ToolBlock[], context: ContextAccess): SessionTool | null {
  const blocks = present.filter((block) => block.isSkill);
  if (blocks.length === 0) return null;
  return createTool({
    description: `Load a document that a [loadable] block lists, to read it in full. Unload it when it is no longer needed.\nBlocks:\n${listBlocks(blocks)}`,
    ...blockInput(
      blocks,
      { key: { type: "string", minLength: 1, description: "The document's key, as the block lists it." } },
      ["key"],
    ),
    async run({ label, key }, { toolCallId }) {
      const block = context.toolBlock(label);
      const content = await context.loadEntry(block.label, key);
      if (content === null) return `Not found: ${quoteField(shorten(key))}`;
      await context.skills?.load(block.label, key, toolCallId);
      return content;
    },
  });
}

/** `unload_context`: takes a loaded document out of what the model sees. Null when no block holds documents. */
function createUnloadContextTool(present: readonly ToolBlock[], context: ContextAccess): SessionTool | null {
  const blocks = present.filter((block) => block.isSkill);
  if (blocks.length === 0) return null;
  return createTool({
    description: `Free the space of a document that load_context loaded. It can be loaded again.\nBlocks:\n${listBlocks(blocks)}`,
    ...blockInput(
      blocks,
      { key: { type: "string", minLength: 1, description: "The key that the document was loaded with." } },
      ["key"],
    ),
    async run({ label, key }) {
      const block = context.toolBlock(label);
      if (!context.skills)
        return refusal("This session has nowhere to keep what is loaded, so nothing can be unloaded.");
      const unloaded = await context.skills.unload(block.label, key);
      return unloaded
        ? `Unloaded ${quoteField(shorten(key))} of ${block.label}.`
        : refusal(`${quote(key)} of ${block.label} is not loaded.`);
    },
  });
}

/** `search_context`: finds entries of a searchable block. Null when there is no such block. */
function createSearchContextTool(present: readonly ToolBlock[], context: ContextAccess): SessionTool | null {
  const blocks = present.filter((block) => block.isSearchable);
  if (blocks.length === 0) return null;
  return createTool({
    description: `Search a block for entries that match. The best come first.\nBlocks:\n${listBlocks(blocks, searchNote)}`,
    ...blockInput(blocks, { query: QUERY, ...TIMES }, ["query"]),
    async run({ label, query, ...times }) {
      const block = context.toolBlock(label);
      const between = readTimes(times);
      if (!block.searchesByTime && Object.keys(times).length > 0) {
        return refusal(`${block.label} cannot be searched by time: leave out after and before.`);
      }
      return (
        (await context.searchEntries(block.label, query, between)) ||
        `No entry of ${block.label} matches ${quote(query)}.`
      );
    },
  });
}

function searchNote({ scopes }: ToolBlock): string {
  return scopes === undefined ? "" : ` (scopes ${[...scopes.writable, ...scopes.readOnly].join(", ")})`;
}

/**
 * The input of a tool that acts on a block, for `createTool`. The model is shown the labels that there are. Any other text is
 * read too, because labels match without regard to case and the block's refusal can say more; so is the older name `block`.
 */
function blockInput<const P extends Readonly<Record<string, FieldSchema>>, const R extends keyof P & string = never>(
  blocks: readonly ToolBlock[],
  properties: P,
  required: readonly R[] = [],
) {
  const labels = blocks.map(({ label }) => label);
  const shapeOf = (label: { type: "string"; enum?: readonly string[]; description: string }) =>
    objectSchema({ label, ...properties }, ["label", ...required]);
  const read = shapeOf({ type: "string", description: `one of ${labels.join(", ")}` });
  return {
    input: shapeOf({ type: "string", enum: labels, description: "The block." }),
    read: (given: unknown) => readInput(read, withLabel(given)),
  };
}

function withLabel(given: unknown): unknown {
  if (!isJsonObject(given) || given.label != null) return given;
  const { block, ...others } = given;
  return { ...others, label: block };
}

/** One line per block for a tool's description. `note` adds what only this tool needs to say. */
function listBlocks(blocks: readonly ToolBlock[], note: (block: ToolBlock) => string = () => ""): string {
  return blocks
    .map((block) => `- ${block.label}${block.description ? `: ${block.description}` : ""}${note(block)}`)
    .join("\n");
}
