/**
 * A schema of zod (4.2 or newer) for an object, as `z.object({ … })` makes it, by what Stemma uses of it: so the package
 * works without zod, and takes that of the host.
 */
export interface BlockSchema<Value = unknown> {
  readonly "~standard": { readonly vendor: string; readonly types?: { readonly output: Value } | undefined };
  /** The same with every field optional. */
  partial(): unknown;
}

/** What a schema of the host's reads. */
export type ValueOfSchema<Schema extends BlockSchema> = NonNullable<Schema["~standard"]["types"]>["output"];

/** What `partial()` gives. */
export interface PartialSchema {
  readonly def: { readonly catchall?: unknown };
  readonly "~standard": {
    readonly jsonSchema: { input(options: { target: string; libraryOptions?: object }): Record<string, unknown> };
  };
  strict(): PartialSchema;
  safeParse(value: unknown): { success: true; data: unknown } | { success: false; error: { issues: readonly Issue[] } };
}

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}
