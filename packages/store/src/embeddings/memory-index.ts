import { Distribution } from "@stemma/model";
import type { Dialect, RowRange } from "../engine/dialect.js";
import { all, column, type Operation, oneNumber, sameSession } from "../engine/operation.js";
import type { ContentRow } from "../operations/messages/content.js";
import { sessionOf } from "../operations/registry/session-head.js";
import { boundsOf, sessionsIn } from "./search-by-meaning.js";
import { createBest, product, type VectorDialect } from "./vector-bytes.js";

const PAGE = 500;

interface VectorRow {
  readonly id: number;
  readonly n: number;
  readonly vector: unknown;
}

/** A message by its number, how alike its vector is, and the row that the vector stands in. */
export interface Near {
  readonly id: number;
  readonly n: number;
  readonly score: number;
}

/**
 * The newest vectors of a model in one array, up to a size in bytes. Rows of the database are written once and have
 * numbers that grow, so what is new is found by number; whether what is found is still there, the database is asked.
 *
 * The array is a ring in the order of these numbers: newer rows come to its end, older ones before its start, and where
 * it is full the oldest makes room.
 */
export class MemoryIndex {
  readonly #capacity: number;
  #ids = new Float64Array(0);
  #messages = new Float64Array(0);
  #vectors = new Float32Array(0);
  /** The slot of the oldest row, and how many there are. */
  #start = 0;
  #size = 0;
  /** Rows after the one and before the other are not read yet. */
  #newest: number | null = null;
  #oldest = 0;
  /** No vector is left out. */
  isWhole = false;

  constructor(
    readonly embedder: number,
    readonly dimensions: number,
    bytes: number,
  ) {
    this.#capacity = Math.max(1, Math.floor(bytes / (4 * dimensions)));
  }

  /** Reads a page of what is not here yet. True while there is more to read. */
  *load(dialect: VectorDialect): Operation<boolean> {
    if (this.#newest === null) {
      this.#newest = yield* oneNumber("SELECT max(id) AS id FROM assistant_vectors");
      this.#oldest = this.#newest + 1;
    }
    const newer = yield* this.#read(dialect, "v.id > ?", this.#newest, "", PAGE);
    this.#newest = newer.at(-1)?.id ?? this.#newest;
    if (newer.length === PAGE) return true;
    const room = Math.min(PAGE, this.#capacity - this.#size);
    if (this.isWhole || room === 0) return false;
    const older = yield* this.#read(dialect, "v.id < ?", this.#oldest, "DESC", room);
    this.#oldest = older.at(-1)?.id ?? this.#oldest;
    this.isWhole = older.length < room;
    return !this.isWhole;
  }

  *#read(dialect: VectorDialect, where: string, id: number, order: "" | "DESC", limit: number): Operation<VectorRow[]> {
    const query = `SELECT v.id AS id, v.n AS n, ${dialect.read} AS vector FROM assistant_vectors v
       WHERE ${where} AND +v.embedder = ? AND v.vector IS NOT NULL ORDER BY v.id ${order} LIMIT ?`;
    const rows = yield* all<VectorRow>(query, id, this.embedder, limit);
    for (const row of rows) this.#add(row.id, row.n, dialect.decode(row.vector), order === "");
    return rows;
  }

  #add(id: number, rowId: number, vector: Float32Array, isNewer: boolean): void {
    if (vector.length !== this.dimensions) return;
    if (this.#size === this.#capacity) this.#dropOldest();
    else if (this.#size === this.#ids.length) this.#grow();
    if (!isNewer) this.#start = this.#slot(this.#ids.length - 1);
    const slot = isNewer ? this.#slot(this.#size) : this.#start;
    this.#size += 1;
    this.#ids[slot] = id;
    this.#messages[slot] = rowId;
    this.#vectors.set(vector, slot * this.dimensions);
  }

  // The slot of a row, counted from the oldest.
  #slot(index: number): number {
    const slot = this.#start + index;
    return slot < this.#ids.length ? slot : slot - this.#ids.length;
  }

  #dropOldest(): void {
    // Read again when there is room.
    this.#oldest = (this.#ids[this.#start] as number) + 1;
    this.isWhole = false;
    this.#start = this.#slot(1);
    this.#size -= 1;
  }

  // Of a full ring: the oldest row comes to the first slot.
  #grow(): void {
    const length = Math.min(this.#capacity, Math.max(PAGE, 2 * this.#ids.length));
    const unroll = <A extends Float32Array | Float64Array>(ring: A, longer: A, width: number): A => {
      const start = this.#start * width;
      longer.set(ring.subarray(start));
      longer.set(ring.subarray(0, start), ring.length - start);
      return longer;
    };
    const { dimensions } = this;
    this.#ids = unroll(this.#ids, new Float64Array(length), 1);
    this.#messages = unroll(this.#messages, new Float64Array(length), 1);
    this.#vectors = unroll(this.#vectors, new Float32Array(length * dimensions), dimensions);
    this.#start = 0;
  }

  /**
   * The messages of a range that are most alike, best first; at most `limit`, each above `least`. And how alike all of
   * these rows are.
   */
  *nearest(
    sql: Dialect,
    query: Float32Array,
    range: RowRange,
    limit: number,
    least: number,
  ): Operation<{ near: Near[]; alike: Distribution }> {
    const [lo, hi] = boundsOf(range);
    const sessions = range?.several === undefined ? null : new Set(sessionsIn(range.several));
    for (;;) {
      const best = createBest<Near>(limit, least);
      const alike = new Distribution();
      const [ids, messages, vectors, size] = [this.#ids, this.#messages, this.#vectors, this.#size];
      for (let index = 0; index < size; index += 1) {
        const slot = this.#slot(index);
        const rowId = messages[slot] as number;
        if (rowId < lo || rowId > hi || sessions?.has(sessionOf(rowId)) === false) continue;
        const score = product(query, vectors, slot);
        alike.add(score);
        if (best.takes(score)) best.add({ id: ids[slot] as number, n: rowId, score });
      }
      const near = best.take();
      const there = new Set(
        yield* column<number>(
          `SELECT v.id FROM ${sql.segmentTable} AS s CROSS JOIN assistant_vectors v WHERE v.id = s.lo AND v.embedder = ?`,
          JSON.stringify(near.map(({ id }) => [0, id, id])),
          this.embedder,
        ),
      );
      const gone = new Set(near.map(({ id }) => id).filter((id) => !there.has(id)));
      if (gone.size === 0) return { near, alike };
      this.#forget(gone);
    }
  }

  // The others move together: it takes no longer than the comparing did.
  #forget(gone: ReadonlySet<number>): void {
    const { dimensions } = this;
    let size = 0;
    for (let index = 0; index < this.#size; index += 1) {
      const from = this.#slot(index);
      if (gone.has(this.#ids[from] as number)) continue;
      const to = this.#slot(size);
      size += 1;
      if (to === from) continue;
      this.#ids[to] = this.#ids[from] as number;
      this.#messages[to] = this.#messages[from] as number;
      this.#vectors.copyWithin(to * dimensions, from * dimensions, (from + 1) * dimensions);
    }
    this.#size = size;
  }
}

/** The row of the same message in the session that a session was forked from. */
export interface Twin {
  readonly n: number;
  readonly sessionId: string;
}

/** A row of a message that waits for its vector. */
export interface WaitingRow extends ContentRow {
  readonly session_id: string;
  readonly twin: number | null;
  /** The session of the twin. */
  readonly parent: string | null;
}

const PARENT = "(SELECT s.parent_session_id FROM assistant_sessions s WHERE s.id = m.session_id)";

/** Where the parent's rows may be on another server, see `findTwin`: a statement that locks rows names no other table there. */
export const WAITING_COLUMNS = (sql: Dialect, embedder: number) => {
  const [twin, parent] = sql.layout === "spread" ? ["NULL", "NULL"] : [twinOf(sql, embedder), PARENT];
  return `m.n AS n, m.session_id AS session_id, m.content AS content, ${twin} AS twin, ${parent} AS parent`;
};

const twinOf = (sql: Dialect, embedder: number) => `(
  SELECT v.n FROM assistant_sessions s
  JOIN assistant_messages p ON p.session_id = s.parent_session_id AND p.id = m.id AND p.content = m.content
  JOIN assistant_vectors v ON ${sameSession(sql, "v", "p")}v.n = p.n
  WHERE s.id = m.session_id AND v.embedder = ${embedder} AND v.vector IS NOT NULL)`;

/** Of a message in a fork. Its session names the one whose rows are looked at. */
export function* findTwin({ n: rowId, session_id, content }: WaitingRow, embedder: number): Operation<Twin | null> {
  const findParent = "SELECT parent_session_id FROM assistant_sessions WHERE id = ?";
  const [parent] = yield* column<string | null>(findParent, session_id);
  if (parent === null || parent === undefined) return null;
  const findId = "SELECT id FROM assistant_messages WHERE session_id = ? AND n = ?";
  const [id] = yield* column<string>(findId, session_id, rowId);
  const [twin] = yield* column<number>(
    `SELECT v.n FROM assistant_messages p JOIN assistant_vectors v ON v.session_id = p.session_id AND v.n = p.n
     WHERE p.session_id = ? AND p.id = ? AND p.content = ? AND v.embedder = ? AND v.vector IS NOT NULL`,
    ...[parent, id ?? "", content, embedder],
  );
  return twin === undefined ? null : { n: twin, sessionId: parent };
}

/** The twin that such a row names. */
export function twinIn({ twin, parent }: WaitingRow): Twin | null {
  return twin === null || parent === null ? null : { n: twin, sessionId: parent };
}
