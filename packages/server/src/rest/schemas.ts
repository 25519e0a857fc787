// The parts of the document that several routes share, and what of a request is checked by them. What a message, a value or
// metadata may be, the store checks: any JSON passes here.
import { z } from "@hono/zod-openapi";
import { isJsonObject, type JsonObject } from "@stemma/model";

/** Of a page. */
export const DEFAULT_LIMIT = 50;
export const MAX_LIMIT = 200;

export const text = z.string();
const texts = z.array(text);
const textOrNull = text.nullable();
const count = z.int().min(0);
export const time = text.openapi({ format: "date-time" });
const timeOrNull = time.nullable();

/** Any JSON object. */
export const object = z
  .custom<JsonObject>(isJsonObject, "expected an object")
  .openapi({ type: "object", additionalProperties: true });
/** Any JSON. */
export const anything = z.unknown().openapi({});

/** The fields of a query that asks for a page. */
export const PAGE = {
  limit: z.coerce
    .number()
    .pipe(z.int().min(1).max(MAX_LIMIT))
    .optional()
    .openapi({ type: "integer", minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }),
  cursor: text.optional().openapi({ description: "The `nextCursor` of the page before, with the same other fields." }),
};
/** Those of a body. */
export const PAGE_BODY = { limit: z.int().min(1).max(MAX_LIMIT).optional(), cursor: text.optional() };

export const flag = z.enum(["true", "false"]).optional();
export const whole = z.coerce.number().pipe(z.int().min(0)).optional().openapi({ type: "integer", minimum: 0 });

/** A page of a list, as an answer has it: of messages, a `MessageList`. */
export const listOf = (name: string, item: z.ZodType) =>
  z.object({ data: z.array(item), nextCursor: textOrNull }).openapi(`${name}List`);

export const PROBLEM = z
  .object({
    type: text,
    title: text,
    status: z.int(),
    code: text,
    detail: text,
    details: object,
    requestId: text,
    retryable: z.boolean(),
  })
  .openapi("Problem");

export const MESSAGE = z
  .custom<JsonObject>(isJsonObject, "expected a message: an object with id, role and parts")
  .openapi("Message", {
    type: "object",
    description: "As the AI SDK's `UIMessage`. What else it holds is kept, too.",
    required: ["id", "role", "parts"],
    properties: {
      id: { type: "string" },
      role: { type: "string" },
      parts: {
        type: "array",
        items: {
          type: "object",
          required: ["type"],
          properties: { type: { type: "string" } },
          additionalProperties: true,
        },
      },
      metadata: {},
    },
    additionalProperties: true,
  });

export const SESSION = z
  .object({
    id: text,
    name: text,
    parentSessionId: textOrNull,
    model: textOrNull,
    source: textOrNull,
    userId: textOrNull,
    metadata: object,
    inputTokens: z.int(),
    outputTokens: z.int(),
    estimatedCost: z.number(),
    endReason: textOrNull,
    createdAt: time,
    updatedAt: time,
  })
  .openapi("Session");

export const ROWS = z
  .object({
    sessions: count,
    messages: count,
    branches: count,
    summaries: count,
    media: count,
    prompts: count,
    blocks: count,
    entries: count,
    versions: count,
    records: count,
    usage: count,
    vectors: count,
    indexed: count,
  })
  .openapi("Rows");

export const ERASED = z.object({ deleted: ROWS, remaining: ROWS }).openapi("Erased");
export const RECEIPT = ERASED.extend({ residue: z.enum(["none", "pending", "unknown"]) }).openapi("ErasureReceipt");

export const COMPACTION = z
  .object({ id: text, summary: text, fromMessageId: text, toMessageId: text, createdAt: time })
  .openapi("Compaction");

export const BLOCK = z
  .object({ label: text, content: text, version: z.int(), updatedAt: time.optional() })
  .openapi("Block");

const FACT = {
  validFrom: timeOrNull,
  validTo: timeOrNull,
  expiresAt: timeOrNull,
  supersedes: texts,
  tags: texts,
  origin: z.enum(["user", "import", "tool", "learning", "web"]).nullable(),
};

/** The fields of an entry that a write may give. */
export const FIELDS = {
  validFrom: FACT.validFrom.optional(),
  validTo: FACT.validTo.optional(),
  expiresAt: FACT.expiresAt.optional(),
  supersedes: texts.optional(),
  tags: texts.optional(),
  origin: FACT.origin.optional(),
};

const END = z.object({ validTo: time, invalidatedAt: time, by: textOrNull });

export const ENTRY = z
  .object({
    key: text,
    content: text,
    value: anything,
    ...FACT,
    invalidatedAt: timeOrNull,
    supersededBy: texts,
    ends: z.array(END),
    createdAt: time,
    updatedAt: time,
  })
  .partial({ value: true })
  .openapi("Entry");

export const FOUND_ENTRY = ENTRY.extend({
  owner: text.optional(),
  label: text.optional(),
  score: z.number(),
  rerankScore: z.number().optional(),
}).openapi("FoundEntry");

export const VERSION = z
  .object({
    version: z.int(),
    content: textOrNull,
    writtenAt: time,
    author: z.enum(["model", "program", "learning", "import"]).nullable(),
    sessionId: textOrNull,
    messageIds: texts,
    toolCallId: textOrNull,
    fact: z.object({ ...FACT, ends: z.array(END), merges: z.boolean().optional() }).optional(),
  })
  .openapi("Version");

const FOUND = { id: text, role: text, name: text.optional(), content: text, createdAt: time };

export const HIT = z
  .object({
    ...FOUND,
    sessionId: text,
    score: z.number(),
    snippet: text,
    coveredBy: texts,
    context: z.object({ before: z.array(z.object(FOUND)), after: z.array(z.object(FOUND)) }).optional(),
    rerankScore: z.number().optional(),
  })
  .openapi("Hit");

export const COUNTED = z.object({ inputTokens: z.int(), outputTokens: z.int(), cost: z.number() }).openapi("Counted");

/** The memory that a turn recalled. */
export const TURN_RECALL = z
  .object({ results: z.array(object), tokens: z.number(), ms: z.number(), isLate: z.boolean() })
  .openapi("TurnRecall");

export const NODE = z
  .object({ id: text, parentId: textOrNull, role: text, createdAt: time, preview: text })
  .openapi("TreeNode");
