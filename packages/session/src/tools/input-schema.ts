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

/** What `readInput` makes of an input with this schema. */
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
export type Reading<Value> = { readonly value: Value } | { readonly problem: string };

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
