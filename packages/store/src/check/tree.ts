import type { Dialect } from "../engine/dialect.js";
import type { SessionRows } from "../engine/operation.js";
import { all, type Operation, run } from "../engine/operation.js";
import type { MessagePosition } from "../operations/registry/session-head.js";
import { ceilingOf, floorOf } from "../operations/registry/session-head.js";
import type { Findings } from "./findings.js";
import type { MessageRow } from "./scan.js";
export interface BranchRow {
  readonly branch: number;
  readonly lo: number;
  readonly parent_branch: number | null;
  readonly parent_n: number | null;
}

/**
 * Follows the rows of a session in order and holds parents against branches: each says the tree by itself. Keeps the last row of
 * each branch, and the rows that something else names by number (`wanted`); never all of them.
 */
export class TreeCheck {
  readonly heads: ReadonlyMap<number, BranchRow>;
  /** Of the rows in `wanted`, those that went by. */
  readonly passed = new Map<number, MessagePosition>();
  /** Rows whose total was measured, not added up. */
  readonly measured: (MessagePosition & { readonly total: number })[] = [];
  newest: MessagePosition | null = null;
  readonly #last = new Map<number, MessagePosition>();
  readonly #wanted: ReadonlySet<number>;

  constructor(
    private readonly session: { readonly no: number; readonly id: string; readonly stale: number | null },
    branches: readonly BranchRow[],
    wanted: Iterable<number>,
    private readonly found: Findings,
  ) {
    this.heads = new Map(branches.map((head) => [head.branch, head]));
    this.#wanted = new Set([...wanted, ...branches.flatMap(({ parent_n }) => (parent_n === null ? [] : [parent_n]))]);
  }

  visit(row: MessageRow): void {
    const { n: rowId, id, branch, total } = row;
    const before = this.#last.get(branch) ?? null;
    const parent = before ?? this.#parentOfBranch(row);
    if (parent !== undefined && (parent?.id ?? null) !== row.parent_id) {
      this.#report(row, `Its parent is "${row.parent_id}", where its branch goes on from "${parent?.id ?? null}".`);
    }
    const position = { rowId, id, branch, total };
    if (parent !== undefined) this.#holdTotal(row, position, parent);
    this.#last.set(branch, position);
    if (this.#wanted.has(rowId)) this.passed.set(rowId, position);
    this.newest = position;
  }

  /** After the last row: branches without one. */
  end(): void {
    for (const { branch } of this.heads.values()) {
      if (this.#last.has(branch)) continue;
      this.found.add("tree", "assistant_branches", this.session.id, null, `No message is of branch ${branch}.`);
    }
  }

  /** True when the row `from` is on the path to the row `to`. */
  isOnPath(from: MessagePosition, to: MessagePosition): boolean {
    let { branch, rowId: hi } = to;
    for (;;) {
      if (from.branch === branch && from.rowId <= hi) return true;
      const head = this.heads.get(branch);
      if (head === undefined || head.parent_n === null || head.parent_branch === null || head.parent_n >= hi)
        return false;
      branch = head.parent_branch;
      hi = head.parent_n;
    }
  }

  // What a branch begins below: null for a root, undefined where that cannot be told.
  #parentOfBranch(row: MessageRow): MessagePosition | null | undefined {
    if (row.branch === 0) return null;
    const head = this.heads.get(row.branch);
    if (head === undefined) return this.#report(row, `It is of branch ${row.branch}, which is not there.`);
    const { lo, parent_branch, parent_n } = head;
    // Written so that what is no number does not pass.
    const isBefore = lo > floorOf(this.session.no) && lo <= row.n;
    if (!isBefore) this.#report(row, `Branch ${row.branch} does not begin at it or before it.`);
    if (parent_n === null) {
      if (parent_branch !== null) this.#report(row, `Branch ${row.branch} does not say where it begins.`);
      return null;
    }
    const parent = this.passed.get(parent_n);
    if (parent === undefined || parent.branch !== parent_branch || lo <= parent_n) {
      return this.#report(row, `Branch ${row.branch} does not say where it begins.`);
    }
    return parent;
  }

  #holdTotal(row: MessageRow, position: MessagePosition, parent: MessagePosition | null): void {
    const { stale } = this.session;
    const isCurrent = (total: number | null, rowId: number): total is number =>
      total !== null && (stale === null || rowId > stale);
    const { total, n: rowId, tokens } = row;
    if (!isCurrent(total, rowId)) return;
    if (parent !== null && !isCurrent(parent.total, parent.rowId)) {
      this.measured.push({ ...position, total });
    } else if (total !== (parent?.total ?? 0) + tokens) {
      const message = "The sum of tokens up to it is not right.";
      this.found.add("totals", "assistant_messages", this.session.id, row.id, message);
    }
  }

  #report({ id }: MessageRow, message: string): undefined {
    this.found.add("tree", "assistant_messages", this.session.id, id, message);
  }
}

/** A message without its content, as a repair moves it about. */
export interface Bone {
  n: number;
  id: string;
  parent_id: string | null;
  branch: number;
  /** The message that it hangs below, once that is found out. */
  parent: Bone | null;
}

/** The messages of a session in order. */
export function* readBones(session: SessionRows): Operation<Bone[]> {
  const { sessionNumber } = session;
  const rows = yield* all<Omit<Bone, "parent">>(
    ...session.where(
      "SELECT n, id, parent_id, branch FROM assistant_messages",
      "n BETWEEN ? AND ? ORDER BY n",
      floorOf(sessionNumber),
      ceilingOf(sessionNumber),
    ),
  );
  return rows.map((row) => ({ ...row, parent: null }));
}

/**
 * Finds for each message the one that it hangs below. It says so itself; where that is no earlier message, its branch says so; where
 * that is damaged too, it is the row before it, so that nothing older becomes unreachable. Moves rows that stand behind
 * their children before them.
 */
export function* mendParents(
  sql: Dialect,
  session: SessionRows,
  bones: Bone[],
  branches: readonly BranchRow[],
): Operation<void> {
  yield* moveBeforeChildren(sql, session, bones);
  const byId = new Map(bones.map((bone) => [bone.id, bone]));
  const byRow = new Map(bones.map((bone) => [bone.n, bone]));
  const heads = new Map(branches.map((head) => [head.branch, head]));
  const begun = new Map(branches.map((head) => [head.lo, head]));
  const present = new Set(bones.map(({ branch }) => branch));
  const last = new Map<number, Bone>();
  for (const [index, bone] of bones.entries()) {
    const before = last.get(bone.branch);
    const start = heads.get(bone.branch);
    // A row that lost its branch stands where that one began.
    const lost = begun.get(bone.n);
    const isLost = lost !== undefined && !present.has(lost.branch);
    const byBranch = isLost
      ? byRow.get(lost.parent_n ?? 0)
      : (before ?? (start === undefined ? undefined : byRow.get(start.parent_n ?? 0)));
    const named = bone.parent_id === null ? null : byId.get(bone.parent_id);
    const isEarlier = (other: Bone | null | undefined): other is Bone => other != null && other.n < bone.n;
    const isRoot = isLost
      ? lost.parent_n === null
      : before === undefined && (bone.branch === 0 || start?.parent_n === null);
    if (isEarlier(named)) bone.parent = named;
    else if (named === null && (isRoot || index === 0)) bone.parent = null;
    else if (isEarlier(byBranch)) bone.parent = byBranch;
    else bone.parent = isRoot ? null : (bones[index - 1] ?? null);
    last.set(bone.branch, bone);
  }
}

// A row whose number was changed may stand behind what hangs below it; the place that it left is free.
function* moveBeforeChildren(sql: Dialect, session: SessionRows, bones: Bone[]): Operation<void> {
  const byId = new Map(bones.map((bone) => [bone.id, bone]));
  const firstChild = new Map<Bone, number>();
  for (const { n: rowId, parent_id } of bones) {
    const parent = parent_id === null ? undefined : byId.get(parent_id);
    if (parent !== undefined) firstChild.set(parent, Math.min(rowId, firstChild.get(parent) ?? rowId));
  }
  const taken = new Set(bones.map(({ n: rowId }) => rowId));
  for (const [bone, child] of firstChild) {
    if (child > bone.n) continue;
    const lowest =
      (bone.parent_id === null ? undefined : byId.get(bone.parent_id))?.n ?? floorOf(session.sessionNumber);
    let rowId = child - 1;
    while (rowId > lowest && taken.has(rowId)) rowId -= 1;
    if (rowId <= lowest) continue;
    yield* moveRow(sql, session, bone.n, rowId);
    taken.delete(bone.n);
    taken.add(rowId);
    bone.n = rowId;
  }
  bones.sort((a, b) => a.n - b.n);
}

/** Gives a message another row, with all that is kept by its row. */
function* moveRow(sql: Dialect, rows: SessionRows, from: number, to: number): Operation<void> {
  const { ids, sessionNumber, registered } = rows;
  if ((yield* sql.columns("assistant_vectors")).length > 0)
    yield* run(...rows.where("DELETE FROM assistant_vectors", "n = ?", from));
  yield* run(...rows.where("UPDATE assistant_messages SET n = ?", "n = ?", to, from));
  // Where the number was damaged alone, what is kept by it kept the right one.
  yield* run(...rows.whereNumber("DELETE FROM assistant_media_refs", " AND n = ?", from));
  yield* run(...rows.where("UPDATE assistant_compactions SET from_n = ?", "from_n = ?", to, from));
  yield* run(...rows.where("UPDATE assistant_compactions SET to_n = ?", "to_n = ?", to, from));
  const update = `UPDATE assistant_sessions SET leaf = ? WHERE ${registered}no = ? AND leaf = ?`;
  yield* run(update, to, ...ids, sessionNumber, from);
}

/** Writes parents and branches of messages whose `parent` is right. */
export function* writeTree(rows: SessionRows, bones: readonly Bone[], branches: readonly BranchRow[]): Operation<void> {
  const { ids, sessionNumber, column, mark } = rows;
  const heads: BranchRow[] = [];
  const goesOn = new Set<Bone>();
  let next = 0;
  const assigned = new Map<Bone, number>();
  for (const bone of bones) {
    const { parent } = bone;
    const follows = parent !== null && !goesOn.has(parent);
    if (follows) goesOn.add(parent);
    const branch = follows ? (assigned.get(parent) as number) : next++;
    assigned.set(bone, branch);
    if (!follows && branch > 0) {
      const parentBranch = parent === null ? null : (assigned.get(parent) as number);
      heads.push({ branch, lo: bone.n, parent_branch: parentBranch, parent_n: parent?.n ?? null });
    }
    const parentId = parent?.id ?? null;
    if (branch === bone.branch && parentId === bone.parent_id) continue;
    yield* run(
      ...rows.where("UPDATE assistant_messages SET branch = ?, parent_id = ?", "n = ?", branch, parentId, bone.n),
    );
    bone.branch = branch;
    bone.parent_id = parentId;
  }
  if (JSON.stringify(heads) === JSON.stringify(branches)) return;
  yield* run(...rows.whereNumber("DELETE FROM assistant_branches"));
  for (const { branch, lo, parent_branch, parent_n } of heads) {
    const insertion = `INSERT INTO assistant_branches (${column}no, branch, lo, parent_branch, parent_n) VALUES (${mark}?, ?, ?, ?, ?)`;
    yield* run(insertion, ...[...ids, sessionNumber], branch, lo, parent_branch, parent_n);
  }
}
