import type { Dialect } from "../engine/dialect.js";
import { all, type Operation, run, type SessionRows } from "../engine/operation.js";
import { ceilingOf, floorOf } from "../operations/registry/session-head.js";
import { type BranchRow, readSummaries } from "./check-session.js";

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
  const ends = [floorOf(session.sessionNumber), ceilingOf(session.sessionNumber)];
  const query = "SELECT n, id, parent_id, branch FROM assistant_messages";
  const rows = yield* all<Omit<Bone, "parent">>(...session.where(query, "n BETWEEN ? AND ? ORDER BY n", ...ends));
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

// A row whose number was changed may stand behind what hangs below it; the place that it left is free. It goes to the last free
// place before its first child, behind its own parent.
function* moveBeforeChildren(sql: Dialect, session: SessionRows, bones: Bone[]): Operation<void> {
  const byId = new Map(bones.map((bone) => [bone.id, bone]));
  const parentOf = ({ parent_id }: Bone) => (parent_id === null ? undefined : byId.get(parent_id));
  const moved = new Map<Bone, number>();
  const seen = new Set<Bone>();
  // The free places before the row that is looked at, as ranges in order.
  const free: { readonly lo: number; hi: number }[] = [];
  let lo = floorOf(session.sessionNumber) + 1;
  for (const child of bones) {
    if (lo < child.n) free.push({ lo, hi: child.n - 1 });
    lo = moved.has(child) ? child.n : child.n + 1;
    const bone = parentOf(child);
    if (bone === undefined || seen.has(bone)) continue;
    seen.add(bone);
    const placeOf = (other: Bone) => moved.get(other) ?? other.n;
    const grandparent = parentOf(bone);
    const lowest = grandparent === undefined ? floorOf(session.sessionNumber) : placeOf(grandparent);
    const last = free.at(-1);
    if (child.n > bone.n || last === undefined || last.hi <= lowest) continue;
    moved.set(bone, last.hi);
    if (last.hi === last.lo) free.pop();
    else last.hi -= 1;
  }
  if (moved.size === 0) return;
  yield* moveRows(sql, session, new Map(Array.from(moved, ([bone, to]) => [bone.n, to])));
  for (const [bone, to] of moved) bone.n = to;
  bones.sort((a, b) => a.n - b.n);
}

/** Gives messages other rows, with all that stands beside them by their rows. */
function* moveRows(sql: Dialect, session: SessionRows, moved: ReadonlyMap<number, number>): Operation<void> {
  const { ids, sessionNumber, registered } = session;
  const hasVectors = (yield* sql.columns("assistant_vectors")).length > 0;
  for (const [from, to] of moved) {
    if (hasVectors) yield* run(...session.where("DELETE FROM assistant_vectors", "n = ?", from));
    yield* run(...session.where("UPDATE assistant_messages SET n = ?", "n = ?", to, from));
    // Where the number was damaged alone, what names it names the right one.
    yield* run(...session.whereNumber("DELETE FROM assistant_media_refs", " AND n = ?", from));
    const leaf = `UPDATE assistant_sessions SET leaf = ? WHERE ${registered}no = ? AND leaf = ?`;
    yield* run(leaf, to, ...ids, sessionNumber, from);
  }
  const placeOf = (rowId: number | null) => moved.get(rowId ?? 0) ?? rowId;
  for (const { n: rowId, from_n, to_n } of yield* readSummaries(session)) {
    const range = [placeOf(from_n), placeOf(to_n)];
    if (range[0] === from_n && range[1] === to_n) continue;
    yield* run(...session.where("UPDATE assistant_compactions SET from_n = ?, to_n = ?", "n = ?", ...range, rowId));
  }
}

/** Writes parents and branches of messages whose `parent` is right. */
export function* writeTree(
  session: SessionRows,
  bones: readonly Bone[],
  branches: readonly BranchRow[],
): Operation<void> {
  const { ids, sessionNumber, column, mark } = session;
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
    const hang = "UPDATE assistant_messages SET branch = ?, parent_id = ?";
    yield* run(...session.where(hang, "n = ?", branch, parentId, bone.n));
    bone.branch = branch;
    bone.parent_id = parentId;
  }
  if (JSON.stringify(heads) === JSON.stringify(branches)) return;
  yield* run(...session.whereNumber("DELETE FROM assistant_branches"));
  for (const { branch, lo, parent_branch, parent_n } of heads) {
    const insertion = `INSERT INTO assistant_branches (${column}no, branch, lo, parent_branch, parent_n) VALUES (${mark}?, ?, ?, ?, ?)`;
    yield* run(insertion, ...[...ids, sessionNumber], branch, lo, parent_branch, parent_n);
  }
}

/** Makes a function that is true when its first message is on the path to its second. The messages are in order, their parents right. */
export function pathsOf(bones: readonly Bone[]): (from: Bone, to: Bone) => boolean {
  const sizes = new Map<Bone | null, number>();
  const sizeOf = (bone: Bone | null) => sizes.get(bone) ?? 0;
  for (const bone of bones.toReversed()) {
    sizes.set(bone, sizeOf(bone) + 1);
    sizes.set(bone.parent, sizeOf(bone.parent) + sizeOf(bone));
  }
  // A walk of the tree, in which all that hangs below a message comes right behind it.
  const places = new Map<Bone, number>();
  const next = new Map<Bone | null, number>();
  for (const bone of bones) {
    const place = next.get(bone.parent) ?? 0;
    places.set(bone, place);
    next.set(bone, place + 1);
    next.set(bone.parent, place + sizeOf(bone));
  }
  const placeOf = (bone: Bone) => places.get(bone) as number;
  return (from, to) => placeOf(from) <= placeOf(to) && placeOf(to) < placeOf(from) + sizeOf(from);
}
