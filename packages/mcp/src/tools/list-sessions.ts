import { objectSchema } from "@stemma/session";
import { answerSchema, cursorField, limitField, listOf, nextCursorField } from "../fields.js";
import { describeSession, pageOfSessions, sessionFields } from "../find-memory.js";
import { defineTool } from "../tool.js";

const USUAL_SESSIONS = 20;

export const listSessionsTool = defineTool({
  name: "list_sessions",
  title: "List conversations",
  description: "Lists the stored conversations, the latest changed first. fetch reads one.",
  input: objectSchema({
    name: { type: "string", maxLength: 256, description: "Only those whose name holds this text." },
    limit: limitField(USUAL_SESSIONS),
    cursor: cursorField,
  }),
  output: answerSchema({
    sessions: listOf({
      ...sessionFields,
      messages: { type: "integer", description: "Stored messages on the active branch." },
    }),
    nextCursor: nextCursorField,
  }),
  annotations: { readOnlyHint: true },
  run: (scope, { name, limit = USUAL_SESSIONS, cursor }) => {
    const filter = { nameContains: name };
    return pageOfSessions(
      scope,
      { question: ["list_sessions", name ?? null], limit, cursor, filter },
      async (info) => ({
        ...describeSession(info),
        messages: await scope.store.session(info.id).length(),
      }),
    );
  },
});
