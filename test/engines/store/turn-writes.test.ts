// Both engines: what prepareTurn writes is stored together, so that a turn that failed says the same when it is tried again.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { Session } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";
import { openPGlite } from "../../postgres/pglite.js";
import { openDatabase } from "../../store/databases.js";
import { failingClient } from "../../store/file-target.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-turn-writes-"));
const database = openPGlite();
afterAll(async () => {
  for (const store of Object.values(STORES)) await store.close();
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Called ahead of each statement. */
let before: (statement: string) => void = () => {};
const path = join(folder, "turns.db");
const STORES: Record<string, Store> = {
  SQLite: sqlite(failingClient(openDatabase(path), (sql) => before(sql))),
  Postgres: postgres(database.failing((sql) => before(sql))),
};

/** A session whose next turn is on another branch than the one before, so that its request begins otherwise. */
async function branchedSession(store: Store, id: string): Promise<Session> {
  const session = Session.create(store).forSession(id).withContext("memory").withCachedPrompt();
  await session.appendAll([textMessage("u1"), textMessage("a1", "Yes.", "assistant"), textMessage("u2")]);
  await session.prepareTurn();
  await session.editMessage("u2", textMessage("u3"));
  return session;
}

/** How many transactions wrote: a statement that writes outside of one is one by itself. */
function transactionsThatWrote(statements: readonly string[]): number {
  let count = 0;
  let hasBegun = false;
  let hasWritten = false;
  for (const sql of statements) {
    if (/^\s*BEGIN/i.test(sql)) [hasBegun, hasWritten] = [true, false];
    else if (/^\s*COMMIT/i.test(sql)) hasBegun = false;
    else if (/^\s*(?:INSERT|UPDATE|DELETE)/i.test(sql)) {
      if (!hasBegun || !hasWritten) count += 1;
      hasWritten = true;
    }
  }
  return count;
}

describe.each(Object.entries(STORES))("on %s", (_, store) => {
  afterEach(() => {
    before = () => {};
  });

  it("writes what is stored of a turn in one transaction", async () => {
    const session = await branchedSession(store, "counted");
    const statements: string[] = [];
    before = (sql) => statements.push(sql);
    await session.prepareTurn();
    expect(transactionsThatWrote(statements)).toBe(1);
  });

  it("stores nothing of a turn of which a statement failed, so that it says the same when it is tried again", async () => {
    let failures = 0;
    for (let at = 1, isOver = false; !isOver; at += 1) {
      const session = await branchedSession(store, `failing ${at}`);
      let left = at;
      before = (sql) => {
        left -= 1;
        if (left === 0) throw new RangeError(`injected at statement ${at}: ${sql}`);
      };
      const [first] = await Promise.allSettled([session.prepareTurn()]);
      isOver = left > 0;
      before = () => {};
      if (first.status === "rejected") {
        failures += 1;
        await session.prepareTurn();
      }
      const { brokenAt } = (await session.explainContext("u3")) ?? {};
      expect([at, brokenAt?.by]).toEqual([at, "branch"]);
    }
    expect(failures).toBeGreaterThan(4);
  });
});
