import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, expect, it, vi } from "vitest";
import { createCompactFunction } from "../../../packages/model/src/compaction/compact.js";
import { createSession, resumeSession, SqliteSessionStorage } from "../../../packages/stemma/src/agent.js";
import { calls, collect, says, scripted } from "../../runner/mock-model.js";
import { add } from "../../runner/tools.js";
import { isStandIn } from "../../runtimes/stand-in.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-long-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const question = "A question";
const answer = "Message 17 says a little something, as messages do.";

interface Cost {
  /** In the order they ran, without their values. */
  readonly statements: readonly string[];
  readonly rowsWritten: number;
  /** Characters of all that was written. */
  readonly written: number;
  /** Messages that the model was shown. */
  readonly shown: number;
}

/** What one turn with a tool costs, in conversations of these lengths. */
async function costsOfTurn(lengths: readonly number[], options: object): Promise<Cost[]> {
  const log: string[] = [];
  const database = new Database(join(folder, `${crypto.randomUUID()}.db`), { verbose: (sql) => log.push(String(sql)) });
  const storage = new SqliteSessionStorage(database);
  const changes = () => database.prepare("SELECT total_changes() AS n").pluck().get() as number;
  const costs: Cost[] = [];
  for (const length of lengths) {
    const id = `s${length}`;
    const settings = { sessionStorage: storage, tools: { add }, ...options };
    const filled = await createSession({ ...settings, id });
    await filled.session.appendAll(
      Array.from({ length }, (_, index) => ({
        id: `m${index}`,
        role: index % 2 === 0 ? "user" : "assistant",
        parts: [{ type: "text", text: answer }],
      })),
    );
    await filled.close();
    const turn = () => [calls(["c", "add", { x: 1 }]), says("Done.")];
    const model = scripted(...turn(), ...turn());
    const session = await resumeSession(id, { ...settings, model });
    const talk = async () => {
      await session.send(question);
      expect((await collect(session.receive())).at(-1)).toMatchObject({ stop_reason: "end_turn" });
    };
    // The first may compact, and measures what the fill has written.
    // At a time that stands still: when a session was appended to is noted once a second.
    vi.useFakeTimers({ toFake: ["Date"] });
    await talk();
    log.length = 0;
    const before = changes();
    await talk();
    vi.useRealTimers();
    const rowsWritten = changes() - before;
    const writes = log.filter((sql) => /^\s*(INSERT|UPDATE)/i.test(sql));
    costs.push({
      statements: log.map((sql) => sql.replace(/'(?:[^']|'')*'|\b\d+(?:\.\d+)?(?:e\+\d+)?\b/g, "?")),
      rowsWritten,
      written: writes.join("").length,
      shown: model.doStreamCalls.at(-1)?.prompt.length ?? 0,
    });
    await session.close();
  }
  await storage.close();
  return costs;
}

function assertSame(short: Cost | undefined, long: Cost | undefined): void {
  expect(long?.statements).toEqual(short?.statements);
  expect(long?.statements.length).toBeGreaterThan(10);
  expect(long?.rowsWritten).toBe(short?.rowsWritten);
  // Ids and numbers of rows are a little longer.
  expect(Math.abs((long?.written ?? 0) - (short?.written ?? 0))).toBeLessThan(100);
}

it.skipIf(isStandIn)(
  "costs the same statements per turn at 5,000 messages as at 500, where the history is compacted",
  async () => {
    const onCompaction = createCompactFunction({ summarize: () => "They talked.", tailTokenBudget: 1000 });
    const [short, long] = await costsOfTurn([500, 5000], { compactAfter: 3000, onCompaction });
    assertSame(short, long);
    expect(long?.shown).toBe(short?.shown);
    expect(long?.shown).toBeLessThan(100);
  },
);

it.skipIf(isStandIn)("writes what is new, and nothing else, at 5,000 messages as at 500", async () => {
  // What the model is shown is read page by page: the same statement, more often.
  const [short, long] = (await costsOfTurn([500, 5000], {})).map((cost) => ({
    ...cost,
    statements: cost.statements.filter((sql, index) => sql !== cost.statements[index - 1]),
  }));
  assertSame(short, long);
  expect(long?.shown).toBe((short?.shown ?? 0) + 4500);
});
