import type { SessionInfo, SessionListRequest, SessionOrder } from "../../../storage/contract.js";
import { cursorOf, isBehind, type ListPosition, parseCursor } from "../../../storage/operations/session-order.js";

/** A session, and how many messages it has; 0 where that is not asked for. */
export interface SessionToSort {
  readonly info: SessionInfo;
  readonly messages: number;
}

/** A page of sessions, sorted. Errors: `INVALID_ARGUMENT` for a cursor that is none of the order. */
export function pageOf(
  sessions: readonly SessionToSort[],
  { limit, cursor, orderBy = "change" }: Pick<SessionListRequest, "limit" | "cursor" | "orderBy">,
): { sessions: SessionInfo[]; nextCursor: string | null } {
  const after = cursor === undefined ? null : parseCursor(orderBy, cursor);
  const rest = sessions
    .map((session) => ({ info: session.info, at: placeOf(orderBy, session) }))
    .filter(({ at }) => after === null || isBehind(at, after))
    .sort((one, other) => (isBehind(one.at, other.at) ? 1 : -1));
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = last !== undefined && page.length < rest.length ? cursorOf(orderBy, last.at) : null;
  return { sessions: page.map(({ info }) => info), nextCursor };
}

function placeOf(order: SessionOrder, { info, messages }: SessionToSort): ListPosition {
  const registered = Date.parse(info.created_at);
  const value = {
    change: info.updated_at,
    tokens: info.input_tokens + info.output_tokens,
    cost: info.estimated_cost,
    messages,
    registered,
  }[order];
  return { value, registered, id: info.id };
}
