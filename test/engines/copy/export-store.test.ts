import { expect, it } from "vitest";
import { copyStore, exportStore, jsonl } from "../../../packages/stemma/src/copy.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";
import { openDatabase } from "../../store/databases.js";

it("exports all but what no call can name, and then tells of that", async () => {
  const database = openDatabase();
  const store = sqlite(database);
  for (const id of ["before", "reserved", "behind"]) await store.session(id).append([textMessage("a", id)]);
  for (const user of ["ann", "eve", "zoe"])
    await store.forUser(user).blocks.set({ sessionId: "", kind: "block", label: "memory", scope: "user" }, user);
  database.exec("UPDATE assistant_sessions SET id = 'stemma:reserved' WHERE id = 'reserved'");
  for (const table of ["cf_agents_context_blocks", "assistant_versions"])
    database.exec(
      `UPDATE ${table} SET session_id = 'stemma:user:${"e".repeat(600)}' WHERE session_id = 'stemma:user:eve'`,
    );

  const lines: string[] = [];
  const read = async () => {
    for await (const line of exportStore(store)) lines.push(line);
  };
  await expect(read()).rejects.toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("(2)") });
  expect(lines.at(-1)).toBe('{"end":true}\n');

  const copy = memory();
  const text = new TextEncoder().encode(lines.join(""));
  const report = await copyStore(jsonl(new Blob([text]).stream()), copy);
  expect(report).toMatchObject({ ok: true, sessions: 2 });
  expect((await copy.sessions.list({ limit: 10 })).sessions.map(({ id }) => id).sort()).toEqual(["before", "behind"]);
  expect(await copy.blocks.owners("user")).toEqual(["ann", "zoe"]);
});
