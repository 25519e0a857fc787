import type { z } from "zod";
import { invalid, StemmaError } from "../errors.js";
import { isJsonObject, type JsonObject } from "../model/json-object.js";
import { applyMergePatch } from "../model/merge-patch.js";

/** How much of what does not fit is told. */
const MAX_ISSUES = 10;

/** The content of a block with a schema: a JSON object, of which any field may be missing. */
export class BlockDocument {
  readonly #fields: z.ZodType;

  /** Errors: `INVALID_ARGUMENT` for what is no schema of an object, or one that has no `partial()`. */
  constructor(
    private readonly label: string,
    schema: z.ZodObject,
  ) {
    try {
      const partial = schema.partial();
      // Without a rule for other fields zod drops them in silence; whoever writes one is to know.
      this.#fields = partial.def.catchall === undefined ? partial.strict() : partial;
    } catch (cause) {
      const message = `Block "${label}": schema must be a zod object (z.object({ … })) without refinements.`;
      throw invalid(message, { label }, { cause });
    }
  }

  /** What a text says, as the schema reads it; null for a block without content. Errors: `BLOCK_INVALID`. */
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
    const { success, data, error } = this.#fields.safeParse(value);
    if (success) return data;
    const issues = error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => {
      return path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`;
    });
    throw this.#invalid(issues.join("; "));
  }

  #invalid(why: string): StemmaError {
    const message = `That does not fit "${this.label}": ${why}. Nothing was changed.`;
    return new StemmaError("BLOCK_INVALID", { label: this.label }, message);
  }
}
