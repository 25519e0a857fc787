import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, describe, expect, it } from "vitest";
import { message } from "../../../packages/conformance/src/samples.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { DATA_TABLES } from "../../../packages/store/src/engine/tables.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-dropped-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
async function filled(): Promise<string> {
  files += 1;
  const path = join(folder, `${files}.db`);
  const store = sqlite(path);
  await SessionManager.create(store).append("s", message("a"));
  await store.close();
  return path;
}
function drop(path: string, tables: readonly string[]): void {
  const database = new Database(path);
  for (const table of tables) database.exec(`DROP TABLE ${table}`);
  database.close();
}
const failureOf = async (path: string) => {
  const store = sqlite(path);
  const error = await store.sessions.list({}).then(
    () => null,
    (failure) => failure,
  );
  await store.close();
  return error;
};

describe("tables that another program dropped", () => {
  it.each(DATA_TABLES)("are missed one by one in a file: %s", async (table) => {
    const path = await filled();
    drop(path, [table]);
    expect(await failureOf(path)).toMatchObject({ code: "TABLES_MISSING", details: { tables: [table] } });
    expect(await failureOf(path)).toMatchObject({ code: "TABLES_MISSING" });
  });

  it("are missed when the record of the version is gone with them", async () => {
    const path = await filled();
    drop(path, ["assistant_schema", "assistant_messages"]);
    const error = await failureOf(path);
    expect(error).toMatchObject({ code: "TABLES_MISSING" });
    expect(error.details.tables).toEqual(["assistant_schema", "assistant_messages"]);
    // It was not made anew by the attempt.
    expect(await failureOf(path)).toMatchObject({ code: "TABLES_MISSING" });
  });

  it("are missed while a store is open", async () => {
    const path = await filled();
    const store = sqlite(path);
    const manager = SessionManager.create(store);
    await manager.list();
    drop(path, ["assistant_messages"]);
    await expect(manager.append("s", message("b"))).rejects.toMatchObject({ code: "TABLES_MISSING" });
    await store.close();
  });
});
