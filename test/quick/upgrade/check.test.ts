import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { CheckReport } from "../../../packages/store/src/contract/store.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";

const read = (name: string) => readFileSync(join(import.meta.dirname, "../..", "fixtures", name));

describe("a check of an upgraded database", () => {
  it.each([
    "agents-0.9.0.sqlite",
    "agents-0.9.0-wirings.sqlite",
    "agents-0.22.0.sqlite",
    "agents-0.22.0-wirings.sqlite",
  ])("%s finds nothing wrong but what was broken before, and makes no session", async (name) => {
    const database = new Database(read(name));
    const store = sqlite(database);
    const report = (await store.check?.()) as CheckReport;
    // One session of the fixtures holds rows that cannot be read, on purpose.
    expect(report.problems.filter(({ sessionId }) => sessionId !== "broken")).toEqual([]);
    expect(report.checked.assistant_messages).toBeGreaterThan(0);
    const sessions = await store.sessions.count();
    const repaired = (await store.check?.({ repair: true })) as CheckReport;
    expect(repaired.problems.filter((problem) => !problem.repaired && problem.rule !== "content")).toEqual([]);
    expect(await store.sessions.count()).toBe(sessions);
  });

  it("leaves damaged rows of before the upgrade below no session", async () => {
    const database = new Database(read("agents-0.22.0-wirings.sqlite"));
    const store = sqlite(database);
    await store.migrate();
    const sessions = await store.sessions.count();
    database.exec("UPDATE cf_agents_context_blocks SET version = 0, kind = 'x'");
    expect(await store.check?.()).toMatchObject({ ok: false });
    expect(await store.check?.({ repair: true })).toMatchObject({ ok: true });
    expect(await store.sessions.count()).toBe(sessions);
    const kinds = database.prepare("SELECT DISTINCT kind, version FROM cf_agents_context_blocks").raw().all();
    expect(kinds).toEqual([["block", 1]]);
  });
});
