import { applyMergePatch, invalid, isJsonObject, type JsonObject, StemmaError } from "@stemma/model";
import type { BlockSchema, PartialSchema } from "./block.js";

/** A field that JSON Schema cannot express is shown as one that may be anything. */
const AS_SHOWN = { target: "draft-2020-12", libraryOptions: { unrepresentable: "any" } };
/** How much of what does not fit is told. */
const MAX_ISSUES = 10;

/** The content of a block with a schema: a JSON object, of which any field may be missing. */
export class BlockDocument {
  readonly #fields: PartialSchema;
  /** The JSON Schema of a JSON Merge Patch for it: no field is required. */
  readonly patchSchema: Record<string, unknown>;

  /** Errors: `INVALID_ARGUMENT` for what is no schema of an object, or one that has no `partial()`. */
  constructor(
    private readonly label: string,
    schema: BlockSchema,
  ) {
    try {
      const partial = schema.partial() as PartialSchema;
      // Without a rule for other fields zod drops them in silence; whoever writes one is to know.
      this.#fields = partial.def.catchall === undefined ? partial.strict() : partial;
      const { $schema: _, ...shape } = partial["~standard"].jsonSchema.input(AS_SHOWN);
      this.patchSchema = shape;
    } catch (cause) {
      const message = `Block "${label}": schema must be an object of zod 4.2 or newer (z.object({ … })) without refinements.`;
      throw invalid(message, { label }, { cause });
    }
  }

  /** Reads a text by the schema; null for a block without content. Errors: `BLOCK_INVALID`. */
  read(text: string): JsonObject | null {
    return text === "" ? null : (this.#checked(this.#parse(text)) as JsonObject);
  }

  /** The content with a JSON Merge Patch applied. Errors: `BLOCK_INVALID`. */
  patched(text: string, patch: unknown): string {
    if (!isJsonObject(patch)) throw this.#invalid("A JSON Merge Patch is an object with the fields that change");
    const merged = applyMergePatch(text === "" ? {} : this.#parse(text), patch);
    this.#checked(merged);
    return JSON.stringify(merged, null, 2);
  }

  /** The patch that a model wrote. Errors: `BLOCK_INVALID`. */
  parsePatch(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw this.#invalid(`The content is not JSON (${(error as Error).message})`);
    }
  }

  #parse(text: string): JsonObject {
    const value = this.parsePatch(text);
    if (!isJsonObject(value)) throw this.#invalid("The content is not a JSON object");
    return value;
  }

  #checked(value: unknown): unknown {
    const result = this.#fields.safeParse(value);
    if (result.success) return result.data;
    const issues = result.error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => {
      return path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`;
    });
    throw this.#invalid(issues.join("; "));
  }

  #invalid(why: string): StemmaError {
    const message = `That does not fit "${this.label}": ${why}. Nothing was changed.`;
    return new StemmaError("BLOCK_INVALID", { label: this.label }, message);
  }
}
