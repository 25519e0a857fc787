/** What several tools take and give, as their schemas tell it. */

const MOST_HITS = 50;

export const limitField = (usual: number) =>
  ({ type: "integer", minimum: 1, maximum: MOST_HITS, description: `How many at most; default ${usual}.` }) as const;

export const cursorField = {
  type: "string",
  maxLength: 8_192,
  description: "The nextCursor of the answer before, with the same arguments.",
} as const;

export const idField = { type: "string", minLength: 1, maxLength: 16_384 } as const;

export const textField = { type: "string" } as const;

export const textOrNull = { type: ["string", "null"] } as const;

export const nextCursorField = { ...textOrNull, description: "Null after the last page." } as const;

/** A list of objects that have all of these. */
export const listOf = (properties: object, required = Object.keys(properties)) =>
  ({ type: "array", items: answerSchema(properties, required) }) as const;

/** What a tool answers: an object with these, all of which it always has unless `required` says otherwise. */
export const answerSchema = (properties: object, required = Object.keys(properties)) =>
  ({ type: "object", properties, required, additionalProperties: false }) as const;

/** Where a text is from, and when it was written. */
export const provenanceField = answerSchema(
  {
    kind: { type: "string", enum: ["message", "entry", "block", "session"] },
    session: { ...textField, description: "The id of the conversation." },
    writtenBy: {
      ...textField,
      description: "Of a message its role and sender; of memory model, program, learning or import.",
    },
    time: textOrNull,
  },
  ["kind", "writtenBy", "time"],
);

/** What search and fetch agree on with the clients that know these two tools. */
export const documentFields = { id: textField, title: textField, url: textField, text: textField };
