import { assertStorableText, foldLabel, quote } from "@stemma/model";
import { keyOfContent, keyOfTitle } from "./entry-key.js";
import { blockInput, listBlocks } from "./fields.js";
import { objectSchema } from "./input-schema.js";
import type { ContextAccess, ToolBlock } from "./tool.js";
import { createTool, refusal, type SessionTool } from "./tool.js";

/** `set_context`: writes a block, or one entry of a keyed block. Null when no block can be written. */
export function createSetContextTool(present: readonly ToolBlock[], context: ContextAccess): SessionTool | null {
  const blocks = present.filter((block) => block.writable);
  if (blocks.length === 0) return null;
  const { input, read } = blockInput(blocks, FIELDS, ["content"]);
  const tool = createTool({
    description: describe(blocks),
    input,
    read,
    async run({ label, content, action = "replace", metadata = {} }, call) {
      const block = context.toolBlock(label);
      if (!isKeyed(block)) {
        const written = await context.write(block.label, content, action, call);
        if ("present" in written) return refusal(conflict(block.label, written.present));
        const did = block.patchSchema !== undefined ? "Patched" : action === "append" ? "Appended to" : "Replaced";
        return `${did} ${block.label}${usage(written)}.`;
      }
      const key = keyFor(context, block, content, metadata.title);
      await context.writeEntry(block.label, { key, content, description: metadata.description }, action, call);
      return `${action === "append" ? "Appended to" : "Wrote"} entry ${quote(key)} in ${block.label}.`;
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

const FIELDS = {
  content: { type: "string", description: "The text to write." },
  action: {
    type: "string",
    enum: ["replace", "append"],
    description:
      '"replace" (the default) writes the whole content anew; "append" adds the text to the end, on a new line.',
  },
  metadata: {
    ...objectSchema({
      title: {
        type: "string",
        description:
          "Names an entry, best in lower case with hyphens (deploy-checklist). The same title updates the entry.",
      },
      description: { type: "string", description: "One line on what an entry holds, for its listing." },
    }),
    description: "For blocks that hold entries.",
  },
} as const;

function describe(blocks: readonly ToolBlock[]): string {
  const note = (block: ToolBlock) => {
    const budget = block.maxTokens === undefined ? "" : `, at most ${block.maxTokens} tokens`;
    if (block.patchSchema !== undefined) return ` (${patchNote(block.patchSchema)}${budget})`;
    return isKeyed(block) ? ` (entries by title${budget} each)` : ` (text${budget})`;
  };
  return `Save something to a context block, to remember it beyond this conversation.\nBlocks:\n${listBlocks(blocks, note)}`;
}

function patchNote(schema: object): string {
  return `a JSON object: give as content a JSON Merge Patch with the fields that change, null to remove one; its JSON Schema: ${JSON.stringify(schema)}`;
}

function isKeyed(block: ToolBlock): boolean {
  return block.isSkill || block.isSearchable;
}

function keyFor(context: ContextAccess, block: ToolBlock, content: string, title: string | undefined): string {
  if (title === undefined || title.trim() === "") return keyOfContent(content);
  assertStorableText(title, "A title");
  // A key that the host chose may not be a slug; what the listing shows is an entry's name.
  return context.lists(block.label, title) ? title : keyOfTitle(title);
}

// The content comes last: nothing in it can pass for the tool's own words.
function conflict(label: string, present: string): string {
  const now = present === "" ? "It is empty now." : `It now reads:\n\n${present}`;
  return `${label} was changed since you were shown it, and nothing was written. Put what is new into its present text and replace it again, or append. ${now}`;
}

function usage({ tokens, maxTokens }: { tokens: number; maxTokens?: number }): string {
  return maxTokens === undefined ? "" : ` (${Math.round((tokens / maxTokens) * 100)}% — ${tokens}/${maxTokens} tokens)`;
}
