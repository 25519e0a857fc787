import type { SessionMessage } from "../../../model/message.js";
import { searchableText, senderName } from "../../../model/text.js";
import type { FoundMessage } from "../../contract.js";
import type { Dialect } from "../../engine/dialect.js";
import type { Operation } from "../../engine/operation.js";
import type { FoundRow } from "../../engine/search-dialect.js";
import { rowsOf } from "../../engine/session-rows.js";
import { readContent } from "../content.js";
import { sessionOf } from "../row-id.js";

/** The row of a message that was found, without what covers it. */
export type HitRow = Omit<FoundRow, "covering" | "covered_by">;

/** A session of the rows that were found: by its id where rows name it, else by its number. */
export const sessionKey = ({ namesSessions }: Dialect, sessionId: string, rowId: number): number | string =>
  namesSessions ? sessionId : sessionOf(rowId);

/** The rows of its session. */
export const sessionRows = (sql: Dialect, { n: rowId, session_id }: HitRow) =>
  rowsOf(sql, session_id, sessionOf(rowId));

/** What is read of it. */
export const HIT_COLUMNS = "n, id, session_id, branch, role, dated_at, created_at, content";

/** The message of such a row. One that cannot be read has no text. */
export function* readFound(sql: Dialect, row: HitRow): Operation<FoundMessage> {
  const message: SessionMessage | null = yield* readContent(sessionRows(sql, row), row, () => {});
  const name = message === null ? "" : senderName(message);
  const content = message === null ? "" : searchableText(message);
  const { id, role } = row;
  const createdAt = row.dated_at ?? row.created_at;
  return name === "" ? { id, role, content, createdAt } : { id, role, name, content, createdAt };
}

/** What was found is found, also where the rows around it are damaged. */
export const passOver = (): void => {};
