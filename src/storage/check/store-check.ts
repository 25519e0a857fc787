// Longer than most: one check is one object, whose steps share what they found to be broken.
import { reasonOf, StemmaError } from "../../errors.js";
import type { CheckOptions, CheckProblem, CheckReport, Store } from "../contract.js";
import type { SearchIndex } from "../engine/dialect.js";
import { all, first, type Operation } from "../engine/operation.js";
import { NO_WAIT, type Turns } from "../engine/turns.js";
import { ceilingOf, floorOf } from "../operations/row-id.js";
import { markAllUnindexed, reindexSome } from "../operations/search/index-rows.js";
import type { OpenStore } from "../sql-store.js";
import { BLOCKS } from "./blocks.js";
import type { CheckDialect, EngineFault } from "./dialect.js";
import { ENTRIES } from "./entries.js";
import { type Finding, Findings } from "./findings.js";
import { checkPlaces, findMisplaced, repairMisplaced, repairMisplacedSummaries } from "./places.js";
import { RECORDS } from "./records.js";
import { repairSession } from "./repair-session.js";
import { compareIndex, type Differing, repairIndex, windowEnd } from "./search-index.js";
import { checkSession, type SessionRecord } from "./session.js";
import { checkUnregistered, repairUnregistered } from "./unregistered.js";
import { checkVectors, repairVectors } from "./vectors.js";
import { VERSIONS } from "./versions.js";

/** A store that checks itself. */
export function checkable(open: OpenStore, check: CheckDialect): OpenStore {
  const store: Store = {
    ...open.store,
    capabilities: { ...open.store.capabilities, check: true },
    check: (options = {}) => {
      const { sessionId, repair } = options;
      if (sessionId === undefined) return new StoreCheck(open, check, options, open.turns).run();
      // All of it is one turn, so its steps wait for none.
      const work = () => new StoreCheck(open, check, options, NO_WAIT).run();
      return repair === true ? open.turns.write(sessionId, work) : open.turns.read(sessionId, work);
    },
  };
  return { ...open, store };
}

const SESSIONS_AT_ONCE = 500;

type Look = (found: Findings) => Operation<void>;

/** One check of a store: each step is a transaction of its own, and so is each repair. */
class StoreCheck {
  readonly #problems: CheckProblem[] = [];
  readonly #checked: Record<string, number> = {};
  /** The file itself is damaged: what is written to it could be lost with the rest. */
  #isBroken = false;
  #isUnreadable = false;

  constructor(
    private readonly open: OpenStore,
    private readonly check: CheckDialect,
    private readonly options: CheckOptions,
    private readonly turns: Turns,
  ) {}

  async run(): Promise<CheckReport> {
    const { sessionId } = this.options;
    const { sql } = this.open;
    await this.open.runner.ready();
    if (sessionId !== undefined) await this.#assertKnown(sessionId);
    if (sessionId === undefined) await this.#checkEngine();
    await this.#step(
      (found) => checkPlaces(sessionId, found),
      () => this.#repairPlaces(),
    );
    await this.#checkSessions();
    for (const rows of [BLOCKS, ENTRIES, VERSIONS, RECORDS]) {
      await this.#step(
        (found) => rows.check(sessionId, found),
        () => this.#write("", () => rows.repair(sessionId)),
      );
    }
    if (sessionId === undefined) {
      await this.#step(
        (found) => checkVectors(sql, this.check, found),
        () => this.#write("", () => repairVectors(sql, this.check)),
      );
      await this.#step(
        (found) => checkUnregistered(found),
        () => this.#write("", () => repairUnregistered(this.#isUnreadable)),
      );
    }
    if (sql.search !== null) await this.#checkIndex();
    const repaired = this.#problems.filter((problem) => problem.repaired).length;
    return {
      ok: repaired === this.#problems.length,
      checked: this.#checked,
      problems: this.#problems,
      repaired,
    };
  }

  get #mayRepair(): boolean {
    return this.options.repair === true && !this.#isBroken;
  }

  /** Looks, mends what was found where that is wanted, and looks again: what is found no more was repaired. */
  async #step(look: Look, mend: (found: Findings) => Promise<void>, sessionId?: string): Promise<void> {
    const before = await this.#look(look, sessionId);
    if (before.problems.length === 0 || !this.#mayRepair) return this.#report(before, null);
    const failure = await mend(before).then(() => null, reasonOf);
    const after = await this.#look(look, sessionId);
    if (failure !== null) after.add("engine", "", null, null, `The repair was refused: ${failure}`);
    this.#report(before, after);
  }

  // In the turn of a session, where it is one session that is looked at.
  async #look(look: Look, sessionId?: string): Promise<Findings> {
    const found = new Findings();
    const read = () => this.open.runner.read(() => look(found));
    try {
      await (sessionId === undefined ? read() : this.turns.read(sessionId, read));
    } catch (error) {
      if (StemmaError.isInstance(error, "STORE_CLOSED")) throw error;
      // Whatever is wrong with the rows is a finding, and the rest is looked at all the same.
      this.#isBroken = true;
      found.add("engine", "", null, null, `The rows could not be read: ${reasonOf(error)}`);
    }
    return found;
  }

  #report(before: Findings, after: Findings | null): void {
    for (const [table, rows] of Object.entries((after ?? before).checked)) {
      this.#checked[table] = (this.#checked[table] ?? 0) + rows;
    }
    const left = new Set((after ?? before).problems.map(keyOf));
    const known = new Set(before.problems.map(keyOf));
    for (const problem of before.problems) this.#problems.push({ ...problem, repaired: !left.has(keyOf(problem)) });
    for (const problem of after?.problems ?? []) {
      if (!known.has(keyOf(problem))) this.#problems.push({ ...problem, repaired: false });
    }
    this.#isUnreadable ||= (after ?? before).problems.some(({ rule }) => rule === "content" || rule === "media");
  }

  #write<T>(sessionId: string, operation: () => Operation<T>): Promise<T> {
    const { runner, sql } = this.open;
    const { lockSession } = sql;
    const locked = function* () {
      if (lockSession !== null) yield* lockSession(sessionId);
      return yield* operation();
    };
    return this.turns.write(sessionId, () => runner.write(locked));
  }

  async #assertKnown(sessionId: string): Promise<void> {
    const known = await this.open.runner.read(() =>
      first(
        "SELECT 1 FROM assistant_sessions WHERE id = ? UNION ALL SELECT 1 FROM assistant_messages WHERE session_id = ? LIMIT 1",
        sessionId,
        sessionId,
      ),
    );
    if (known === undefined)
      throw new StemmaError("SESSION_NOT_FOUND", { sessionId }, `Session not found: "${sessionId}".`);
  }

  async #checkEngine(): Promise<void> {
    const { integrity } = this.check;
    if (integrity === null) return;
    const before = await this.#faults(integrity);
    const mends = new Set(before.map(({ mend }) => mend));
    this.#isBroken ||= mends.has("nothing");
    let after = before;
    if (before.length > 0 && this.#mayRepair) {
      if (mends.has("reindex")) await this.#write("", () => this.check.reindex()).catch(() => {});
      if (mends.has("search")) await this.#rebuildIndex().catch(() => {});
      after = await this.#faults(integrity);
      this.#isBroken ||= after.some(({ mend }) => mend === "reindex" || mend === "search");
    }
    const findings = (faults: readonly EngineFault[]): Findings => {
      const found = new Findings();
      for (const { message } of faults) found.add("engine", "", null, null, message);
      return found;
    };
    this.#report(findings(before), findings(after));
  }

  async #faults(integrity: () => Operation<EngineFault[]>): Promise<EngineFault[]> {
    try {
      return await this.open.runner.read(integrity);
    } catch (error) {
      return [{ message: reasonOf(error), mend: "nothing" }];
    }
  }

  async #repairPlaces(): Promise<void> {
    const { sessionId } = this.options;
    const { runner } = this.open;
    for (const group of await runner.read(() => findMisplaced("assistant_messages", sessionId))) {
      await this.#write(group.session_id, () => repairMisplaced(group));
    }
    for (const group of await runner.read(() => findMisplaced("assistant_compactions", sessionId))) {
      await this.#write(group.session_id, () => repairMisplacedSummaries(group));
    }
  }

  async #checkSessions(): Promise<void> {
    const { sql } = this.open;
    for (let after = -1; ; ) {
      const page = await this.#pageOfSessions(after);
      for (const { no: sessionNumber, id } of page) {
        const record = () => first<SessionRecord>("SELECT * FROM assistant_sessions WHERE no = ?", sessionNumber);
        await this.#step(
          function* (found) {
            const session = yield* record();
            if (session !== undefined) yield* checkSession(sql, session, found);
          },
          (found) =>
            this.#write(id, function* () {
              const session = yield* record();
              if (session !== undefined) yield* repairSession(sql, session, found);
            }),
          id,
        );
      }
      const last = page.at(-1);
      if (last === undefined || !(last.no > after)) return;
      after = last.no;
    }
  }

  async #pageOfSessions(after: number): Promise<{ no: number; id: string }[]> {
    const { sessionId } = this.options;
    const where = sessionId === undefined ? "" : "AND id = ?";
    try {
      return await this.open.runner.read(() =>
        all<{ no: number; id: string }>(
          `SELECT no, id FROM assistant_sessions WHERE no > ? ${where} ORDER BY no LIMIT ${SESSIONS_AT_ONCE}`,
          after,
          ...(sessionId === undefined ? [] : [sessionId]),
        ),
      );
    } catch (error) {
      if (StemmaError.isInstance(error, "STORE_CLOSED")) throw error;
      this.#isBroken = true;
      this.#problems.push(engineProblem("assistant_sessions", error));
      return [];
    }
  }

  async #checkIndex(): Promise<void> {
    const { sessionId } = this.options;
    if (sessionId !== undefined) {
      const session = await this.open.runner.read(() =>
        first<{ no: number }>("SELECT no FROM assistant_sessions WHERE id = ?", sessionId),
      );
      if (session !== undefined) await this.#checkWindow("messages", floorOf(session.no), ceilingOf(session.no));
      return;
    }
    for (const index of ["messages", "entries"] as const) {
      for (let lo = Number.MIN_SAFE_INTEGER; lo < Number.MAX_SAFE_INTEGER; ) {
        const hi = await this.open.runner.read(() => windowEnd(index, lo)).catch(() => Number.MAX_SAFE_INTEGER);
        await this.#checkWindow(index, lo, hi);
        lo = hi + 1;
      }
    }
  }

  async #checkWindow(index: SearchIndex, lo: number, hi: number): Promise<void> {
    const { runner, sql } = this.open;
    const table = index === "messages" ? "assistant_fts" : "cf_agents_search_fts";
    const run = this.check.indexCheckWrites ? runner.write : runner.read;
    let counted = 0;
    const look = async (): Promise<Differing[] | Error> => {
      try {
        const { differing, documents } = await run(() => compareIndex(sql, this.check, index, lo, hi));
        counted = documents;
        return differing;
      } catch (error) {
        if (StemmaError.isInstance(error, "STORE_CLOSED")) throw error;
        return error instanceof Error ? error : new TypeError(String(error));
      }
    };
    const before = await look();
    let after = before;
    if (this.#mayRepair && (before instanceof Error || before.length > 0)) {
      if (before instanceof Error) await this.#rebuildIndex().catch(() => {});
      else await this.#repairRows(index, before).catch(() => {});
      after = await look();
      // Rows that stay wrong lie in a damaged index.
      if (!(before instanceof Error) && (after instanceof Error || after.length > 0)) {
        await this.#rebuildIndex().catch(() => {});
        after = await look();
      }
    }
    this.#report(indexFindings(index, before), indexFindings(index, after));
    this.#checked[table] = (this.#checked[table] ?? 0) + counted;
  }

  async #repairRows(index: SearchIndex, differing: readonly Differing[]): Promise<void> {
    const bySession = new Map<string, Differing[]>();
    for (const row of differing) {
      const key = row.sessionId ?? "";
      bySession.set(key, [...(bySession.get(key) ?? []), row]);
    }
    for (const [id, rows] of bySession) await this.#write(id, () => repairIndex(this.open.sql, index, rows));
  }

  #rebuildIndex(): Promise<void> {
    const { sql } = this.open;
    const { search } = sql;
    const { check } = this;
    return this.#write("", function* () {
      yield* check.emptyIndex();
      yield* markAllUnindexed();
      // All of it in one transaction: a mark that stays would make the next program that opens the store go on with it.
      while (search !== null && !(yield* reindexSome(sql, search)));
    });
  }
}

function indexFindings(index: SearchIndex, seen: Differing[] | Error): Findings {
  const found = new Findings();
  const table = index === "messages" ? "assistant_fts" : "cf_agents_search_fts";
  if (seen instanceof Error)
    found.add("index", table, null, null, `The search index could not be read: ${seen.message}`);
  else {
    for (const { n: rowId, text, sessionId, id } of seen) {
      const message =
        text === null ? `It holds row ${rowId}, which is not there.` : "It does not hold what the text says.";
      found.add("index", table, sessionId, id, message);
    }
  }
  return found;
}

const keyOf = ({ rule, table, sessionId, id, message }: Finding) =>
  JSON.stringify([rule, table, sessionId, id, message]);

function engineProblem(table: string, error: unknown): CheckProblem {
  const message = `The rows could not be read: ${reasonOf(error)}`;
  return { rule: "engine", table, sessionId: null, id: null, message, repaired: false };
}
