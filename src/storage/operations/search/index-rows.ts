import { documentOf } from "../../../model/text.js";
import type { SearchDialect } from "../../engine/dialect.js";
import { all, column, type Operation, tuples } from "../../engine/operation.js";
import { type ContentTuple, readRows } from "../content.js";
import { rowAfter } from "../damage.js";
import { entryDocument } from "../entries.js";
import { ceilingOf, floorOf } from "../row-id.js";

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
    const rows = yield* tuples<ContentTuple>(
      `SELECT n, content FROM assistant_messages WHERE n BETWEEN ? AND ? ORDER BY n LIMIT ${PAGE}`,
      from,
      ceilingOf(no),
    );
    // A row that cannot be read stays out.
    const messages = yield* readRows(no, rows, () => {});
    for (const [index, message] of messages.entries()) {
      const document = message === null ? "" : documentOf(message);
      if (document !== "") yield* search.add("messages", (rows[index] as ContentTuple)[0], document);
    }
    const last = rows.at(-1);
    if (last === undefined) return;
    from = rowAfter(last[0], from);
  }
}
