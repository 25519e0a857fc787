import { z } from "zod";

/** What several tools take and give, as their schemas tell it. */

const MOST_HITS = 50;

export const limitField = (usual: number) =>
  z.int().min(1).max(MOST_HITS).optional().describe(`How many at most; default ${usual}.`);

export const cursorField = z
  .string()
  .max(8_192)
  .optional()
  .describe("The nextCursor of the answer before, with the same arguments.");

export const idField = z.string().min(1).max(16_384);

export const nextCursorField = z.string().nullable().describe("Null after the last page.");

/** A text with a time, as which it was found. */
export const provenanceField = z.object({
  kind: z.enum(["message", "entry", "block", "session"]),
  session: z.string().optional().describe("The id of the conversation."),
  writtenBy: z.string().describe("Of a message its role and sender; of memory model, program, learning or import."),
  time: z.string().nullable(),
});

/** What search and fetch agree on with the clients that know these two tools. */
export const documentFields = { id: z.string(), title: z.string(), url: z.string(), text: z.string() };
