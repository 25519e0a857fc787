import type { SessionFilter, SessionInfo } from "../storage/contract.js";
import { fitting, roomOf } from "./budget.js";
import { cursorOf, positionOf, type Question } from "./cursor.js";
import { placeOf, sessionTitle } from "./documents.js";
import { textField } from "./fields.js";
import { filterOf, type McpScope } from "./scope.js";

/** What every list of conversations tells of one. */
export const sessionFields = {
  id: textField,
  title: textField,
  url: textField,
  createdAt: textField,
  updatedAt: textField,
};

export function describeSession(info: SessionInfo) {
  const place = placeOf({ kind: "session", session: info.id });
  return { ...place, title: sessionTitle(info), createdAt: info.created_at, updatedAt: info.updated_at };
}

interface PageRequest {
  readonly question: Question;
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly filter?: Pick<SessionFilter, "nameContains"> | undefined;
}

/** The sessions in scope by latest change, each as `describe` tells it, as many as fit. Errors: `INVALID_ARGUMENT` for the cursor. */
export async function pageOfSessions<T>(
  scope: McpScope,
  { question, limit, cursor, filter }: PageRequest,
  describe: (info: SessionInfo) => Promise<T>,
): Promise<{ sessions: T[]; nextCursor: string | null }> {
  const request = { ...filter, ...filterOf(scope), cursor: positionOf(question, cursor) ?? undefined };
  let page = await scope.store.sessions.list({ ...request, limit });
  let described = await Promise.all(page.sessions.map(describe));
  const { length } = fitting(described, roomOf(scope.maxTokens));
  if (length < described.length) {
    // The cursor behind the last one that fits is that of a shorter page.
    page = await scope.store.sessions.list({ ...request, limit: length });
    described = described.slice(0, length);
  }
  const { nextCursor } = page;
  return { sessions: described, nextCursor: nextCursor === null ? null : cursorOf(question, nextCursor) };
}
