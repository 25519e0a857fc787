import type { MessagePage, MessageRow } from "../../api.js";

/** The piece of a path that is drawn. */
export interface Piece {
  readonly rows: readonly MessageRow[];
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
  /** Why it came: a new place to show, or the same place with more or other messages. */
  readonly cause: "place" | "more";
}

/** Beyond so many messages the far ones are dropped; they are read again when somebody scrolls back. */
export const MOST_ROWS = 160;

export function asPiece({ messages: rows, hasOlder, hasNewer }: MessagePage, cause: Piece["cause"]): Piece {
  return { rows, hasOlder, hasNewer, cause };
}

/** A piece with the page before or behind it; what is then too far on the other side is dropped. */
export function extended(piece: Piece, page: MessagePage, direction: "older" | "newer"): Piece {
  if (direction === "older") {
    const rows = [...page.messages, ...piece.rows];
    const hasNewer = piece.hasNewer || rows.length > MOST_ROWS;
    return { rows: rows.slice(0, MOST_ROWS), hasOlder: page.hasOlder, hasNewer, cause: "more" };
  }
  const rows = [...piece.rows, ...page.messages];
  const hasOlder = piece.hasOlder || rows.length > MOST_ROWS;
  return { rows: rows.slice(-MOST_ROWS), hasOlder, hasNewer: page.hasNewer, cause: "more" };
}
