import { expect, it } from "vitest";
import { imageMessage } from "../../../packages/conformance/src/messages/fidelity.js";
import { message, numbered } from "../../../packages/conformance/src/samples.js";
import { SessionManager } from "../../../packages/session/src/manager/session-manager.js";
import { type SqliteClient, sqlite } from "../../../packages/store/src/sqlite.js";
import { cpuTime } from "../../helpers/cpu-time.js";
import { openDatabase } from "../../store/databases.js";

/** How long the transactions that write were open, in milliseconds; of a machine that had other work, what they took of it. */
function timed(client: SqliteClient): { client: SqliteClient; holds: number[] } {
  const holds: number[] = [];
  let begun = 0;
  let used = 0;
  const prepare = (sql: string) => {
    const statement = client.prepare(sql);
    if (sql !== "BEGIN IMMEDIATE" && sql !== "COMMIT") return statement;
    const run = (): unknown => {
      if (sql === "BEGIN IMMEDIATE") [begun, used] = [performance.now(), cpuTime()];
      const result = statement.run();
      // A read ends with the same statement.
      if (sql === "COMMIT" && begun > 0) holds.push(Math.min(performance.now() - begun, cpuTime() - used));
      if (sql === "COMMIT") begun = 0;
      return result;
    };
    return { run, all: run };
  };
  return { client: { prepare, close: () => client.close() }, holds };
}

it("holds no writer for more than 50 ms, however large what goes is", async () => {
  const { client, holds } = timed(openDatabase() as unknown as SqliteClient);
  const manager = SessionManager.create(sqlite(client));
  const { store } = manager;
  for (let start = 0; start < 8; start += 1) {
    await store
      .session("long")
      .append(numbered(`m${start}-`, 1000).map((id) => message(id, `${id} ${"word ".repeat(50)}`)));
  }
  await store.session("wide").append(numbered("i", 300).map((id, index) => ({ ...imageMessage("i", index), id })));
  await store.session("large").append(numbered("l", 300).map((id) => message(id, "a large text ".repeat(4000))));
  await manager.create("records", { id: "records" });
  const scope = { sessionId: "records", label: "runs" };
  for (const key of numbered("r", 2000)) await store.records.set(scope, key, new Uint8Array(2000));
  for (const { id } of await manager.list())
    await store.sessions.restore(id, { updatedAt: "2020-01-01T00:00:00.000Z" });
  for (const key of numbered("k", 500))
    await store.entries.set({ sessionId: "new", label: "facts" }, { key, content: key });
  await store.session("new").append(numbered("n", 5000).map((id) => message(id)));
  holds.length = 0;
  const { deleted } = await manager.retain({ olderThan: 86_400_000, keepMessages: 100, keepVersions: 1 });
  expect([deleted.sessions, deleted.messages, deleted.records]).toEqual([4, 13_500, 2000]);
  expect(Math.max(...holds)).toBeLessThan(50);
});
