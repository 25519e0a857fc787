import type { MessagePosition } from "../operations/message-position.js";
import { floorOf } from "../operations/row-id.js";
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
