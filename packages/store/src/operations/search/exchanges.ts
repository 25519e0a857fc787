// The exchange of each message that was found: a user's message, and what answers it.
import { keyOf, type RowAddress } from "@stemma/model";
import type { SearchHit } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, column, type Operation } from "../../engine/operation.js";
import type { Segment } from "../path/path.js";
import { ceilingOf, floorOf, sessionOf } from "../registry/session-head.js";

type Exchange = NonNullable<SearchHit["exchange"]>;

/** A message that was found. */
interface FoundRow {
  readonly n: number;
  readonly session_id: string;
  readonly branch: number;
}

/** How many rows away from a message the others of its exchange are looked for. */
const REACH = 1_000;

/**
 * The exchange of each row: the last message of a user up to there, and the last one of an assistant before the next user's. In a
 * session of one branch they are looked for among all rows, else on the path that `pathOf` gives.
 */
export function* findExchanges<Row extends FoundRow>(
  sql: Dialect,
  rows: readonly Row[],
  pathOf: (row: Row) => Operation<readonly Segment[]>,
  idsOf: (addresses: readonly RowAddress[]) => Operation<ReadonlyMap<number | string, { readonly id: string }>>,
): Operation<ReadonlyMap<Row, Exchange>> {
  const forked = yield* forkedAmong(sql, rows);
  const places: Place[] = [];
  for (const row of rows) {
    const session = sessionOf(row.n);
    const whole = [{ branch: row.branch, lo: floorOf(session), hi: ceilingOf(session) }];
    const isForked = forked.has(sql.layout === "local" ? session : row.session_id);
    places.push({ ...addressOf(sql, row), path: isForked ? yield* pathOf(row) : whole });
  }
  const users = yield* nearest(sql, places, "user", "last", ({ n }) => [n - REACH, n]);
  const nexts = yield* nearest(sql, places, "user", "first", ({ n }) => [n + 1, n + REACH]);
  const answers = yield* nearest(sql, places, "assistant", "last", ({ n }, at) => [
    users[at] ?? n - REACH,
    (nexts[at] ?? n + REACH) - 1,
  ]);
  const address = (at: number, n: number | null | undefined) =>
    n == null ? [] : [{ ...addressOf(sql, rows[at] as Row), n }];
  const ids = yield* idsOf(rows.flatMap((_, at) => [...address(at, users[at]), ...address(at, answers[at])]));
  const idAt = (at: number, n: number | null | undefined) =>
    address(at, n).map((each) => ids.get(keyOf(each))?.id)[0] ?? null;
  return new Map(rows.map((row, at) => [row, { user: idAt(at, users[at]), answer: idAt(at, answers[at]) }]));
}

interface Place extends RowAddress {
  readonly path: readonly Segment[];
}

const addressOf = ({ layout }: Dialect, { n, session_id }: FoundRow): RowAddress =>
  layout === "local" ? { n } : { n, sessionId: session_id };

/** Of the sessions of rows those that have several branches: their ids where rows name them, else their numbers. */
function* forkedAmong(sql: Dialect, rows: readonly FoundRow[]): Operation<ReadonlySet<number | string>> {
  const isLocal = sql.layout === "local";
  const sessions = new Map(
    rows.map(({ n, session_id }) => [isLocal ? sessionOf(n) : session_id, [0, sessionOf(n), 0, session_id]]),
  );
  const query = isLocal
    ? `SELECT s.lo FROM ${sql.segmentTable} AS s WHERE (SELECT max(b.branch) FROM assistant_branches b WHERE b.no = s.lo) IS NOT NULL`
    : `SELECT DISTINCT s.owner FROM ${sql.segmentTable} AS s JOIN assistant_branches b ON b.session_id = s.owner`;
  const found = yield* column<number | string>(query, JSON.stringify([...sessions.values()]));
  return new Set(isLocal ? found.map(Number) : found);
}

/** For each place the first or the last row of a role on its path, between those that `within` gives; null where there is none. */
function* nearest(
  sql: Dialect,
  places: readonly Place[],
  role: string,
  end: "first" | "last",
  within: (place: Place, at: number) => readonly [lo: number, hi: number],
): Operation<(number | null)[]> {
  const found: (number | null)[] = places.map(() => null);
  const ranges = places.map((place, at) => {
    const [lo, hi] = within(place, at);
    const cut = place.path.map((each) => ({ ...each, lo: Math.max(each.lo, lo), hi: Math.min(each.hi, hi) }));
    const some = cut.filter((each) => each.lo <= each.hi);
    return end === "last" ? some.reverse() : some;
  });
  // Nearly always the first range has one.
  for (let round = 0; ; round += 1) {
    const asked = places.flatMap(({ sessionId }, at) => {
      const range = found[at] === null ? ranges[at]?.[round] : undefined;
      return range === undefined ? [] : [{ at, key: JSON.stringify([range.branch, range.lo, range.hi, sessionId]) }];
    });
    if (asked.length === 0) return found;
    const rows = yield* rowsOfRole(sql, [...new Set(asked.map(({ key }) => key))], role, end);
    for (const { at, key } of asked) found[at] = rows.get(key) ?? null;
  }
}

/** The first or the last row of a role in each range, which is written as JSON. */
function* rowsOfRole(
  sql: Dialect,
  ranges: readonly string[],
  role: string,
  end: "first" | "last",
): Operation<ReadonlyMap<string, number>> {
  const { layout, segmentTable } = sql;
  const given = `[${ranges.join(",")}]`;
  const owner = layout === "local" ? "" : ", s.owner AS owner";
  const own = layout === "local" ? "" : "m.session_id = s.owner AND ";
  // See `inRanges` for why the branches are compared so.
  const within = `${own}m.n BETWEEN s.lo AND s.hi AND m.branch - s.branch = 0 AND m.role = ?`;
  const range = `s.branch AS branch, s.lo AS lo, s.hi AS hi${owner}`;
  const isLast = end === "last";
  // A server looks for each range among its own rows.
  const query =
    layout === "spread"
      ? `SELECT ${range}, ${isLast ? "max" : "min"}(m.n) AS n FROM ${segmentTable} AS s JOIN assistant_messages m ON ${within} GROUP BY 1, 2, 3, 4`
      : `SELECT ${range}, (SELECT m.n FROM assistant_messages m WHERE ${within} ORDER BY m.n ${isLast ? "DESC" : "ASC"} LIMIT 1) AS n FROM ${segmentTable} AS s`;
  const values = layout === "spread" ? [given, role] : [role, given];
  const rows = yield* all<{ branch: number; lo: number; hi: number; owner?: string; n: number | null }>(
    query,
    ...values,
  );
  return new Map(
    rows.flatMap(({ n, branch, lo, hi, owner: id }) =>
      n === null ? [] : [[JSON.stringify([Number(branch), Number(lo), Number(hi), id]), Number(n)] as const],
    ),
  );
}
