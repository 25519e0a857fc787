import { expect, it } from "vitest";
import { message } from "../../../packages/conformance/src/samples.js";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { SessionManager } from "../../../packages/session/src/manager/session-manager.js";
import { describeServer } from "../../postgres/server.js";

const WORDS = Array.from({ length: 500 }, (_, index) => `${index}qzkanarieqz${index * 7919}x`);

// Every file of the database: tables, what stands outside their rows, indexes.
const FILES = `SELECT pg_relation_filepath(c.oid) AS path FROM pg_class c
  WHERE c.relkind IN ('r', 'i', 't') AND pg_relation_filepath(c.oid) LIKE 'base/%' AND pg_relation_size(c.oid) > 0`;

describeServer("what was erased from a server", (server) => {
  it("is gone from the files of the tables and indexes after VACUUM FULL", async () => {
    const url = await server.createDatabase();
    const manager = SessionManager.create(postgres(url)).withContext("memory", { scope: "user" });
    const left = [...WORDS];
    const ada = manager.forUser("ada");
    for (let turn = 0; left.length > 10; turn += 1) {
      await ada.append("ada", message(`m${turn}`, `${left.pop()} said ${left.pop()}`));
      await manager.append("other", message(`m${turn}`, "something else"));
    }
    const session = ada.getSession("ada");
    await session.addCompaction(left.pop() as string, "m0", "m9");
    while (left.length > 0) await session.replaceContextBlock("memory", left.pop() as string);
    const hits = async (): Promise<number> => {
      await server.query(url, "CHECKPOINT");
      const paths = await server.query(url, FILES);
      let all = "";
      for (const { path } of paths) {
        const [file] = await server.query(url, `SELECT encode(pg_read_binary_file('${path}'), 'base64') AS bytes`);
        all += Buffer.from(String(file?.bytes), "base64").toString("latin1");
      }
      return WORDS.filter((word) => all.includes(word.slice(-12))).length;
    };
    expect(await hits()).toBe(500);
    const { residue, remaining } = await manager.eraseUser("ada");
    expect([residue, new Set(Object.values(remaining))]).toEqual(["unknown", new Set([0])]);
    await server.query(url, "VACUUM FULL");
    expect(await hits()).toBe(0);
    expect(await manager.store.session("other").count()).toBe(245);
    await manager.store.close();
  });
});
