import { z } from "zod";
import type { ToolBlock } from "./access.js";

/**
 * The `label` of a tool's input. The model is shown the labels that there are; any other text passes the schema, because
 * labels match without regard to case and the refusal can say more.
 */
export function labelField(blocks: readonly ToolBlock[]): z.ZodType<string> {
  return z
    .string({ error: `must be one of: ${blocks.map((block) => block.label).join(", ")}` })
    .meta({ enum: blocks.map((block) => block.label), description: "The block." });
}

/** Label and key, the label also under its older name `block`. */
export function entryInput(
  blocks: readonly ToolBlock[],
  keyDescription: string,
): z.ZodType<{ label: string; key: string }> {
  const input = z.object({ label: labelField(blocks), key: z.string().min(1).describe(keyDescription) });
  return z.preprocess((value) => {
    if (typeof value !== "object" || value === null || "label" in value || !("block" in value)) return value;
    return { ...value, label: value.block };
  }, input);
}

/** One line per block for a tool's description. `note` adds what only this tool needs to say. */
export function listBlocks(blocks: readonly ToolBlock[], note: (block: ToolBlock) => string = () => ""): string {
  return blocks
    .map((block) => `- ${block.label}${block.description ? `: ${block.description}` : ""}${note(block)}`)
    .join("\n");
}
