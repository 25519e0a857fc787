import { check, defineOptions, reasonOf, StemmaError } from "@stemma/model";
import type { CheckOptions, CheckReport, Store } from "../contract/store.js";
import type { Dialect } from "../engine/dialect.js";
import { all, first, type Operation } from "../engine/operation.js";
import { NO_WAIT } from "../engine/runner.js";
import type { OpenStore } from "../sql/sql-store.js";
import type { CheckDialect, EngineFault } from "./check-dialect.js";
import { CheckRun } from "./check-run.js";
import { checkSession } from "./check-session.js";
import { Findings } from "./findings.js";
import { checkIndex, rebuildIndex } from "./index-check.js";
import { checkMisplaced, findMisplaced, repairMisplaced, repairMisplacedSummaries } from "./misplaced.js";
import type { RegisteredSession } from "./registry-row.js";
import { checkUnregistered, repairUnregistered, USAGE } from "./registry-row.js";
import { repairSession } from "./repair-session.js";
import { BLOCKS, checkVectors, ENTRIES, RECORDS, repairVectors, VERSIONS } from "./row-check.js";

const CHECK = defineOptions<CheckOptions>({ repair: check.flag, sessionId: check.text });

export function checkable(open: OpenStore, dialect: CheckDialect): OpenStore {
  const store: Store = {
    ...open.store,
    capabilities: { ...open.store.capabilities, check: true },
    check: async (options = {}) => {
      CHECK.assert(options, "check()");
      const { sessionId, repair } = options;
      if (sessionId === undefined) return checkAll(new CheckRun(open, dialect, options, open.callOrder));
      // All of it is one call, so its steps wait for none.
      const work = () => checkAll(new CheckRun(open, dialect, options, NO_WAIT));
      return repair === true ? open.callOrder.write(sessionId, work) : open.callOrder.read(sessionId, work);
    },
  };
  return { ...open, store };
}

async function checkAll(run: CheckRun): Promise<CheckReport> {
  const { sessionId } = run.options;
  const { runner, sql } = run.open;
  await runner.ready();
  if (sessionId === undefined) await checkEngine(run);
  else await assertKnown(run, sessionId);
  await run.step(
    { table: "assistant_messages" },
    (found) => checkMisplaced(sql, sessionId, found),
    () => repairAllMisplaced(run),
  );
  await checkSessions(run);
  for (const rows of [BLOCKS, ENTRIES, VERSIONS, RECORDS, USAGE]) {
    await run.step(
      { table: rows.table },
      (found) => rows.check(sessionId, found),
      () => run.write("", () => rows.repair(sql, sessionId)),
    );
  }
  if (sessionId === undefined) {
    await run.step(
      { table: "assistant_vectors" },
      (found) => checkVectors(sql, run.dialect, found),
      () => run.write("", () => repairVectors(sql, run.dialect)),
    );
    await run.step(
      { table: "assistant_sessions" },
      (found) => checkUnregistered(sql, found),
      () => run.write("", () => repairUnregistered(sql, run.isUnreadable)),
    );
  }
  if (sql.search !== null) await checkIndex(run);
  const { problems, checked } = run;
  const repaired = problems.filter((problem) => problem.repaired).length;
  return { ok: repaired === problems.length, checked, problems, repaired };
}

async function assertKnown({ open }: CheckRun, sessionId: string): Promise<void> {
  const query =
    "SELECT 1 FROM assistant_sessions WHERE id = ? UNION ALL SELECT 1 FROM assistant_messages WHERE session_id = ? LIMIT 1";
  if ((await open.runner.read(() => first(query, sessionId, sessionId))) !== undefined) return;
  throw new StemmaError("SESSION_NOT_FOUND", { sessionId }, `Session not found: "${sessionId}".`);
}

async function repairAllMisplaced(run: CheckRun): Promise<void> {
  const { sessionId } = run.options;
  const { runner, sql } = run.open;
  for (const group of await runner.read(() => findMisplaced(sql, "assistant_messages", sessionId))) {
    await run.write(group.session_id, () => repairMisplaced(sql, group));
  }
  for (const group of await runner.read(() => findMisplaced(sql, "assistant_compactions", sessionId))) {
    await run.write(group.session_id, () => repairMisplacedSummaries(sql, group));
  }
}

async function checkSessions(run: CheckRun): Promise<void> {
  const { sql } = run.open;
  for (let after: SessionName | null = null; ; ) {
    const page = await pageOfSessions(run, after);
    for (const name of page) {
      const registered = () => findRegistered(sql, name);
      await run.step(
        { table: "assistant_messages", sessionId: name.id },
        function* (found) {
          const session = yield* registered();
          if (session !== undefined) yield* checkSession(sql, session, found);
        },
        (found) =>
          run.write(name.id, function* () {
            const session = yield* registered();
            if (session !== undefined) yield* repairSession(sql, session, found);
          }),
      );
    }
    const last = page.at(-1);
    if (last === undefined || (after !== null && sql.layout === "local" && !(last.no > after.no))) return;
    after = last;
  }
}

type SessionName = Pick<RegisteredSession, "no" | "id">;

// Its number finds a session whose id is damaged; whoever has the number since is another one.
function* findRegistered({ layout }: Dialect, { no, id }: SessionName): Operation<RegisteredSession | undefined> {
  const [where, value] = layout === "local" ? ["no = ?", no] : ["id = ?", id];
  const found = yield* first<RegisteredSession>(`SELECT * FROM assistant_sessions WHERE ${where}`, value);
  return String(found?.id) === String(id) ? found : undefined;
}

const SESSIONS_AT_ONCE = 500;

async function pageOfSessions(run: CheckRun, after: SessionName | null): Promise<SessionName[]> {
  const { sessionId } = run.options;
  const by = run.open.sql.layout !== "local" ? "id" : "no";
  const conditions = [
    ...(after === null ? [] : [{ condition: `${by} > ?`, value: after[by] }]),
    ...(sessionId === undefined ? [] : [{ condition: "id = ?", value: sessionId }]),
  ];
  const where = ["1 = 1", ...conditions.map(({ condition }) => condition)].join(" AND ");
  const query = `SELECT no, id FROM assistant_sessions WHERE ${where} ORDER BY ${by} LIMIT ${SESSIONS_AT_ONCE}`;
  try {
    return await run.open.runner.read(() => all(query, ...conditions.map(({ value }) => value)));
  } catch (error) {
    const found = new Findings();
    run.noteUnreadable({ table: "assistant_sessions" }, error, found);
    run.report(found, null);
    return [];
  }
}

async function checkEngine(run: CheckRun): Promise<void> {
  const { integrity } = run.dialect;
  if (integrity === null) return;
  const before = await faultsOf(run, integrity);
  const mends = new Set(before.map(({ mend }) => mend));
  run.isBroken ||= mends.has("nothing");
  let after = before;
  if (before.length > 0 && run.mayRepair) {
    if (mends.has("reindex")) await run.write("", () => run.dialect.reindex()).catch(() => {});
    if (mends.has("search")) await rebuildIndex(run).catch(() => {});
    after = await faultsOf(run, integrity);
    run.isBroken ||= after.some(({ mend }) => mend === "reindex" || mend === "search");
  }
  run.report(findingsOf(before), findingsOf(after));
}

async function faultsOf(run: CheckRun, integrity: () => Operation<EngineFault[]>): Promise<EngineFault[]> {
  try {
    // One statement: others work before it.
    return await run.open.runner.readInSteps(integrity);
  } catch (error) {
    return [{ message: reasonOf(error), mend: "nothing" }];
  }
}

function findingsOf(faults: readonly EngineFault[]): Findings {
  const found = new Findings();
  for (const { message } of faults) found.add("engine", "", null, null, message);
  return found;
}
