import { z } from "@hono/zod-openapi";
import { givenMessage, givenMessages, invalid, StemmaError } from "@stemma/model";
import { coreOf } from "@stemma/session";
import type { KeptWrite, MemoryScope, Store } from "@stemma/store";
import { memoryOf } from "../owner.js";
import { asSeen, type Call, json, type Routes } from "../route.js";
import { anything, FIELDS, MESSAGE, object, text } from "../schemas.js";
import { MOST_MESSAGES } from "./history.js";
import { CONTENT, recordOf } from "./session-records.js";

export const MOST_OPERATIONS = 1_000;
const MOST_BYTES = 8_388_608;

const MESSAGE_PLACE = { session: text, parent: text.nullable().optional() };
const EXPECTED_LEAF = { expectedLeaf: text.nullable().optional() };
const ENTRY_PLACE = { owner: text, label: text, key: text, expectedContent: text.nullable().optional() };
const count = z.int().min(0);
const RECORD_PLACE = { session: text, label: text, key: text, expectedVersion: count.optional() };

/** A kind of operation, which has a name in the document. */
function operation<Op extends string, Fields extends z.ZodRawShape>(op: Op, fields: Fields) {
  const name = `${op.slice(0, 1).toUpperCase()}${op.slice(1)}Operation`;
  return z.strictObject({ op: z.literal(op), ...fields }).openapi(name);
}

const OPERATION = z
  .discriminatedUnion("op", [
    operation("appendMessages", {
      messages: z.array(MESSAGE).min(1).max(MOST_MESSAGES),
      ...MESSAGE_PLACE,
      ...EXPECTED_LEAF,
    }),
    operation("putMessage", { message: MESSAGE, ...MESSAGE_PLACE }),
    operation("setLeaf", { session: text, messageId: text.nullable(), ...EXPECTED_LEAF }),
    operation("setBlock", { owner: text, label: text, content: text, expectedVersion: count.optional() }),
    operation("setEntry", {
      ...ENTRY_PLACE,
      content: text,
      value: anything.optional(),
      holds: z.boolean().optional(),
      ...FIELDS,
    }),
    operation("deleteEntry", ENTRY_PLACE),
    operation("setRecord", { ...RECORD_PLACE, ...CONTENT }),
    operation("deleteRecord", RECORD_PLACE),
    operation("updateSession", {
      session: text,
      name: text.optional(),
      expectedName: text.optional(),
      metadata: object.optional(),
    }),
    operation("addUsage", {
      session: text,
      inputTokens: count,
      outputTokens: count,
      cost: z.number().min(0).optional(),
      model: text.optional(),
    }),
  ])
  .openapi("Operation");

type Operation = z.output<typeof OPERATION>;

const BODY = z.strictObject({ operations: z.array(OPERATION).min(1).max(MOST_OPERATIONS) });

export function batchRoute(routes: Routes): void {
  routes.add(
    "post",
    "/v1/batch",
    {
      access: "write",
      summary: "Make several writes together",
      description:
        "All of them or none, in their order. The messages are of one session, and memory of users is that of one user, as whom the batch is made. Each operation counts as a write. Answers, for each operation, the ids of the messages that it inserted, or of the leaf.",
      body: BODY,
      maxBytes: MOST_BYTES,
      writesOf: ({ operations }) => operations.length,
      answers: { 200: z.object({ ids: z.array(z.array(text)) }).openapi("Written") },
    },
    async (call) => {
      const { operations } = call.body;
      const user = only(operations.flatMap(usersIn), "memory", "user");
      const session = only(operations.flatMap(sessionsOfMessages), "messages", "session");
      const writes = operations.map((operation) => writeOf(call.store, operation));
      const isOther = user !== undefined && user !== call.store.userId;
      const store = isOther ? call.store.forUser(user) : call.store;
      const sessions = isOther ? call.sessions.forUser(user) : call.sessions;
      try {
        return json({ ids: await made(store, sessions, session, writes) });
      } catch (error) {
        // Postgres does not say of a parent in which session it is missing.
        const { sessionId = session } = StemmaError.isInstance(error) ? error.details : {};
        if (typeof sessionId !== "string") throw error;
        throw await asSeen({ ids: { session: sessionId }, store }, "write", error);
      }
    },
  );
}

/** Makes the writes, and what follows one to the messages of a session. */
async function made(
  store: Store,
  sessions: Call["sessions"],
  session: string | undefined,
  writes: readonly KeptWrite[],
) {
  if (session === undefined) return store.writeTogether(writes);
  const { ids, settled } = await coreOf(sessions.getSession(session)).together(writes);
  await settled;
  return ids;
}

function usersIn(operation: Operation): string[] {
  const { owner } = operation as { readonly owner?: string };
  return owner?.startsWith("user:") ? [owner.slice("user:".length)] : [];
}

function sessionsOfMessages(operation: Operation): string[] {
  const { op } = operation;
  return op === "appendMessages" || op === "putMessage" || op === "setLeaf" ? [operation.session] : [];
}

/** The one that all name; undefined where none is named. Errors: `INVALID_ARGUMENT`. */
function only(names: readonly string[], what: string, owner: string): string | undefined {
  const [first, ...others] = new Set(names);
  if (others.length === 0) return first;
  throw invalid(`The ${what} of a batch are of one ${owner}: send a batch for each.`, { first, other: others[0] });
}

function writeOf(store: Store, operation: Operation): KeptWrite {
  switch (operation.op) {
    case "appendMessages": {
      const { op: _, messages, session, ...where } = operation;
      return { session, append: givenMessages(messages), ...where };
    }
    case "putMessage": {
      const { op: _, message, session, ...where } = operation;
      return { session, upsert: givenMessage(message), ...where };
    }
    case "setLeaf": {
      const { op: _, messageId: activeLeaf, ...where } = operation;
      return { activeLeaf, ...where };
    }
    case "setBlock": {
      const { owner, label, content, expectedVersion } = operation;
      return { block: { ...scopeOf(store, owner), kind: "block", label }, content, options: { expectedVersion } };
    }
    case "setEntry": {
      const { op: _, owner, label, holds, expectedContent, ...entry } = operation;
      const options = {
        ...(holds !== undefined && { holds }),
        ...(expectedContent !== undefined && { expectedContent }),
      };
      return { entries: { ...scopeOf(store, owner), label }, ...entry, options };
    }
    case "deleteEntry": {
      const { owner, label, key, expectedContent } = operation;
      const options = expectedContent === undefined ? {} : { expectedContent };
      return { entries: { ...scopeOf(store, owner), label }, key, content: null, options };
    }
    case "setRecord": {
      const { session: sessionId, label, key, expectedVersion } = operation;
      const { value, expiresAt } = recordOf(operation);
      return { records: { sessionId, label }, key, value, options: { expectedVersion, expiresAt } };
    }
    case "deleteRecord": {
      const { session: sessionId, label, key, expectedVersion } = operation;
      return { records: { sessionId, label }, key, value: null, options: { expectedVersion } };
    }
    case "updateSession": {
      const { op: _, session: registered, ...change } = operation;
      return { registered, change };
    }
    case "addUsage": {
      const { op: _, session: registered, model, cost = 0, ...tokens } = operation;
      return { registered, usage: { ...tokens, cost }, model };
    }
  }
}

const scopeOf = (store: Store, owner: string): MemoryScope => memoryOf(store, owner).scope;
