import { z } from "zod";

/** The JSON Schema of a JSON Merge Patch for a block: no field is required. */
export function patchSchema(schema: z.ZodObject): Record<string, unknown> {
  const { $schema: _, ...shape } = z.toJSONSchema(schema.partial(), { io: "input", unrepresentable: "any" });
  return shape;
}
