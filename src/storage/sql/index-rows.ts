import { documentOf } from "../../model/text.js";
import { type ContentRow, readContent } from "./content.js";
import type { SearchDialect } from "./dialect.js";
import { entryDocument } from "./entries.js";
import { all, column, type Operation } from "./operation.js";
import { ceilingOf, floorOf } from "./position.js";

const PAGE = 64;

/** Indexes every message and entry; nothing is indexed yet. */
export function* indexEverything(search: SearchDialect): Operation<void> {
  for (const no of yield* column<number>("SELECT no FROM assistant_sessions")) {
    yield* indexSession(search, Number(no));
  }
  for (let from = 0; ; ) {
    const rows = yield* all<{ n: number; key: string; content: string }>(
      `SELECT n, key, content FROM cf_agents_search_entries WHERE n > ? ORDER BY n LIMIT ${PAGE}`,
      from,
    );
    for (const row of rows) yield* search.add("entries", row.n, entryDocument(row));
    const last = rows.at(-1);
    if (last === undefined) return;
    from = last.n;
  }
}

/** Indexes the messages of session `no`, of which none is indexed yet: the index itself keeps no text to copy. */
export function* indexSession(search: SearchDialect, no: number): Operation<void> {
  for (let from = floorOf(no); ; ) {
    const rows = yield* all<ContentRow>(
      `SELECT n, content FROM assistant_messages WHERE n BETWEEN ? AND ? ORDER BY n LIMIT ${PAGE}`,
      from,
      ceilingOf(no),
    );
    for (const row of rows) yield* indexRow(search, no, row);
    const last = rows.at(-1);
    if (last === undefined) return;
    from = last.n + 1;
  }
}

// A row that cannot be read stays out.
function* indexRow(search: SearchDialect, no: number, row: ContentRow): Operation<void> {
  const message = yield* readContent(no, row, () => {});
  const document = message === null ? "" : documentOf(message);
  if (document !== "") yield* search.add("messages", row.n, document);
}
