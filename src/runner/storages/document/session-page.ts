import { StemmaError } from "../../../errors.js";
import type { SessionInfo, SessionListRequest, SessionOrder } from "../../../storage/contract.js";

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
  const placed = sessions.map((session) => ({ info: session.info, place: placeOf(orderBy, session) }));
  const rest = placed
    .filter(({ place }) => after === null || compared(after, place) < 0)
    .sort((one, other) => compared(one.place, other.place));
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = last !== undefined && page.length < rest.length ? cursorOf(orderBy, last.place) : null;
  return { sessions: page.map(({ info }) => info), nextCursor };
}

/** What sessions are sorted by, the highest first. */
type Place = readonly [value: number, updatedAt: string, createdAt: string, id: string];

function placeOf(order: SessionOrder, { info, messages }: SessionToSort): Place {
  const tokens = info.input_tokens + info.output_tokens;
  const value = {
    change: 0,
    tokens,
    cost: info.estimated_cost,
    messages,
    registered: Date.parse(info.created_at),
  }[order];
  return [value, info.updated_at, info.created_at, info.id];
}

function compared(one: Place, other: Place): number {
  for (const [index, value] of one.entries()) {
    const against = other[index] as string | number;
    if (value !== against) return value < against ? 1 : -1;
  }
  return 0;
}

function cursorOf(order: SessionOrder, place: Place): string {
  return [order, ...place].join("~");
}

function parseCursor(order: SessionOrder, cursor: string): Place {
  const [name, value = "", updatedAt = "", createdAt = "", ...id] = cursor.split("~");
  const times = [updatedAt, createdAt].every((time) => /^\d{4}-.*Z$/.test(time));
  const isPlace = value !== "" && Number.isFinite(Number(value)) && times && id.length > 0;
  if (name === order && isPlace) return [Number(value), updatedAt, createdAt, id.join("~")];
  const message = "A cursor is the nextCursor of an earlier page of the same order, as it was given.";
  throw new StemmaError("INVALID_ARGUMENT", { cursor }, message);
}
