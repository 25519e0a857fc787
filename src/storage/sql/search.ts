import { StemmaError } from "../../errors.js";
import type { SearchQuery } from "../../model/query.js";
import { searchableText } from "../../model/text.js";
import type { SearchHit } from "../contract.js";
import { type ContentRow, readContent } from "./content.js";
import type { Dialect } from "./dialect.js";
import { first, type Operation } from "./operation.js";
import { ceilingOf, floorOf } from "./position.js";
import { findTip } from "./session-row.js";

interface HitRow extends ContentRow {
  readonly no: number;
  readonly id: string;
  readonly session_id: string;
  readonly role: string;
  readonly dated_at: string | null;
  readonly created_at: string;
}

/** See `HistoryStore.search`. */
export function* searchMessages(
  sql: Dialect,
  query: SearchQuery,
  sessionId: string | undefined,
  limit: number,
): Operation<SearchHit[]> {
  if (sql.search === null) {
    throw new StemmaError("SEARCH_UNAVAILABLE", { store: sql.name }, "This store was opened without search.");
  }
  const tip = sessionId === undefined ? null : yield* findTip(sessionId);
  if (sessionId !== undefined && tip === null) return [];
  const range = tip === null ? null : ([floorOf(tip.no), ceilingOf(tip.no)] as const);
  const hits: SearchHit[] = [];
  for (const { n, score } of yield* sql.search.messages(query, range, limit)) {
    const row = yield* first<HitRow>(
      `SELECT m.n AS n, s.no AS no, m.id AS id, m.session_id AS session_id, m.role AS role,
              m.dated_at AS dated_at, m.created_at AS created_at, m.content AS content
       FROM assistant_messages m JOIN assistant_sessions s ON s.id = m.session_id WHERE m.n = ?`,
      n,
    );
    if (row === undefined) continue;
    const content = yield* textOf(row);
    const createdAt = row.dated_at ?? row.created_at;
    hits.push({ id: row.id, sessionId: row.session_id, role: row.role, content, createdAt, score });
  }
  return hits;
}

// The text of a message; "" for one that cannot be read.
function* textOf(row: HitRow): Operation<string> {
  const message = yield* readContent(row.no, row, () => {});
  return message === null ? "" : searchableText(message);
}
