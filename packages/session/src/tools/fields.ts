import { isJsonObject } from "@stemma/model";
import { type FieldSchema, objectSchema } from "./input-schema.js";
import { readInput } from "./read-input.js";
import type { ToolBlock } from "./tool.js";

/**
 * The input of a tool that acts on a block, for `createTool`. The model is shown the labels that there are. Any other text is
 * read too, because labels match without regard to case and the block's refusal can say more; so is the older name `block`.
 */
export function blockInput<
  const P extends Readonly<Record<string, FieldSchema>>,
  const R extends keyof P & string = never,
>(blocks: readonly ToolBlock[], properties: P, required: readonly R[] = []) {
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
  return isJsonObject(given) && given.label == null ? { ...given, label: given.block } : given;
}

/** One line per block for a tool's description. `note` adds what only this tool needs to say. */
export function listBlocks(blocks: readonly ToolBlock[], note: (block: ToolBlock) => string = () => ""): string {
  return blocks
    .map((block) => `- ${block.label}${block.description ? `: ${block.description}` : ""}${note(block)}`)
    .join("\n");
}
