import { estimateMessageTokens, summaryMessage } from "@stemma/model";
import type { Dialect } from "../engine/dialect.js";
import { all, type Operation, rowsOf, type SessionRows } from "../engine/operation.js";
import type { CompactionRow } from "../operations/compactions/compactions.js";
import { countTo, measureTokens } from "../operations/path/measures.js";
import { MADE_UP_ID } from "../operations/path/path.js";
import { ceilingOf, floorOf, type MessagePosition } from "../operations/registry/session-head.js";
import { type Findings, isText, isTime, isWhole } from "./findings.js";
import { checkRegistryRow, type RegisteredSession } from "./registry-row.js";
import { checkMedia, checkRefs, type MessageRow, openRefs, type ScannedMessage, scanMessages } from "./scan.js";

export interface SummaryRow extends CompactionRow {
  readonly session_id: string;
  readonly tokens: number;
  readonly covered_tokens: number | null;
}

/** Holds everything that is kept by a session's number against the rules. */
export function* checkSession(sql: Dialect, session: RegisteredSession, found: Findings): Operation<void> {
  const { id } = session;
  const rows = rowsOf(sql, id, session.no);
  found.count("assistant_sessions", 1);
  checkRegistryRow(session, found);
  const branches = yield* readBranches(rows);
  const summaries = yield* readSummaries(rows);
  found.count("assistant_branches", branches.length);
  found.count("assistant_compactions", summaries.length);
  const wanted = [
    session.leaf ?? 0,
    session.counted_to ?? 0,
    ...summaries.flatMap(({ from_n, to_n }) => [from_n ?? 0, to_n ?? 0]),
  ];
  const tree = new TreeCheck(session, branches, wanted, found);
  const refs = openRefs(rows);
  yield* scanMessages(sql, rows, function* (page) {
    found.count("assistant_messages", page.length);
    for (const scanned of page) {
      checkFields(id, scanned, found);
      tree.visit(scanned.row);
    }
    yield* checkRefs(id, refs, page, found);
  });
  tree.end();
  if (session.leaf !== null && session.leaf !== 0 && !tree.passed.has(session.leaf)) {
    found.add("session", "assistant_sessions", id, null, "The active leaf is no message of the session.");
  }
  for (const summary of summaries) checkSummary(id, summary, tree, found);
  yield* checkMedia(rows, found);
  if (!found.has("tree")) yield* checkLength(sql, session, tree, found);
  // Only rows that fit together can be added up.
  if (found.has("tree") || found.has("summary")) return;
  for (const position of tree.measured) {
    if ((yield* measureTokens(sql, rows, position)) === position.total) continue;
    found.add("totals", "assistant_messages", id, position.id, "The sum of tokens up to it is not right.");
  }
}

function* checkLength(sql: Dialect, session: RegisteredSession, tree: TreeCheck, found: Findings): Operation<void> {
  if (session.counted_to === null) return;
  const position = tree.passed.get(session.counted_to);
  const lengths = position === undefined ? null : yield* countTo(sql, rowsOf(sql, session.id, session.no), position);
  if (lengths?.path === session.counted && lengths.all === session.counted_all) return;
  found.add("session", "assistant_sessions", session.id, null, "The length that it holds is not right.");
}

export function readBranches(rows: SessionRows): Operation<BranchRow[]> {
  return all<BranchRow>(...rows.whereNumber("SELECT branch, lo, parent_branch, parent_n FROM assistant_branches"));
}

export function readSummaries(rows: SessionRows): Operation<SummaryRow[]> {
  const { sessionNumber } = rows;
  const columns =
    "n, id, session_id, summary, from_message_id, to_message_id, created_at, from_n, to_n, tokens, covered_tokens";
  return all<SummaryRow>(
    ...rows.where(
      `SELECT ${columns} FROM assistant_compactions`,
      "n BETWEEN ? AND ? ORDER BY n",
      floorOf(sessionNumber),
      ceilingOf(sessionNumber),
    ),
  );
}

function checkFields(sessionId: string, { row, said }: ScannedMessage, found: Findings): void {
  const report = (message: string) => found.add("fields", "assistant_messages", sessionId, String(row.id), message);
  if (!isText(row.id) || row.id === "") report("Its id is no text.");
  if (!isTime(row.created_at)) report("When it was written is no time.");
  if (!isText(row.content)) report("Its content is no text.");
  if (!isWhole(row.tokens) || !(row.total === null || isWhole(row.total))) report("Its tokens are no number.");
  if (said === null) {
    found.add("content", "assistant_messages", sessionId, String(row.id), "It cannot be read.");
    return;
  }
  const { message } = said;
  if (message.id !== row.id && !String(row.id).startsWith(MADE_UP_ID)) {
    report(`Its content is of the message "${message.id}".`);
  }
  if (message.role !== row.role) report("Its role is not that of its content.");
  if (said.tokens !== row.tokens) report("Its tokens are not those of its content.");
  if (said.datedAt !== row.dated_at) report("Its date is not that of its content.");
  if (row.text_content !== undefined && row.text_content !== said.text) report("Its text is not that of its content.");
}

function checkSummary(sessionId: string, row: SummaryRow, tree: TreeCheck, found: Findings): void {
  const report = (message: string) => found.add("summary", "assistant_compactions", sessionId, String(row.id), message);
  if (![row.id, row.summary, row.from_message_id, row.to_message_id].every(isText)) {
    report("It is no text.");
    return;
  }
  if (row.session_id !== sessionId) report("It stands among the rows of another session.");
  if (!isTime(row.created_at)) report("When it was made is no time.");
  if (row.tokens !== estimateMessageTokens(summaryMessage(row))) report("Its tokens are not those of its text.");
  if (row.covered_tokens !== null && !isWhole(row.covered_tokens)) report("What it covers is no number of tokens.");
  if (row.from_n === null && row.to_n === null) return;
  const from = tree.passed.get(row.from_n ?? 0);
  const to = tree.passed.get(row.to_n ?? 0);
  if (from === undefined || to === undefined || !tree.isOnPath(from, to)) report("Its range is not there.");
  else if (from.id !== row.from_message_id || to.id !== row.to_message_id)
    report("Its range has other ends than it names.");
}

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
class TreeCheck {
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
