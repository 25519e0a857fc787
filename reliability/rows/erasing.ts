import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { message } from "../../packages/conformance/src/samples.js";
import { SessionManager } from "../../packages/stemma/src/session.js";
import { type Row, type Scene, zero } from "../tools/row.js";
import { query } from "../tools/stores.js";

/** Every file of a Postgres database: tables, what stands outside their rows, indexes. */
const RELATIONS = `SELECT encode(pg_read_binary_file(pg_relation_filepath(c.oid)), 'base64') AS bytes FROM pg_class c
  WHERE c.relkind IN ('r', 'i', 't') AND pg_relation_filepath(c.oid) LIKE 'base/%' AND pg_relation_size(c.oid) > 0`;

/** Whoever may still read what was deleted, such as an ANALYZE of autovacuum: until they are done, it stays in the files. */
const READERS =
  "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL";

/** The bytes in which a database's contents stand: of Postgres after `VACUUM FULL`, as the docs say. */
async function bytesOf({ engine }: Scene, place: string): Promise<string> {
  if (engine === "Postgres") {
    while ((await query(place, READERS)).length > 0) await sleep(100);
    await query(place, "VACUUM FULL");
    await query(place, "CHECKPOINT");
    const files = await query(place, RELATIONS);
    return files.map(({ bytes }) => Buffer.from(String(bytes), "base64").toString("latin1")).join("\n");
  }
  const files = ["", "-wal", "-shm", "-journal"].map((suffix) => place + suffix).filter((file) => existsSync(file));
  return files.map((file) => readFileSync(file, "latin1")).join("\n");
}

/** A user's words, in messages, a summary, blocks with their versions and entries, are gone when the user is erased. */
export const erasing: Row = {
  number: 30,
  title: "{size} canaries of a user in the files, after the user is erased; on Postgres after `VACUUM FULL`",
  target: "0 bytes of them",
  sizes: { SQLite: [500, 500], Postgres: [500, 500] },
  async run(scene) {
    const place = await scene.place();
    const manager = SessionManager.create(scene.open(place)).withContext("facts", { scope: "user" }).withCachedPrompt();
    const words = Array.from({ length: scene.size }, (_, index) => `${index}qzkanarieqz${index * 7919}x`);
    const left = [...words];
    const next = () => left.pop() ?? "none";
    const ada = manager.forUser("ada").getSession("ada");
    for (let turn = 0; left.length > 60; turn += 1) {
      await ada.appendMessage(message(`m${turn}`, `${next()} and ${"so on ".repeat(turn)} ${next()}`));
      await manager.append("other", message(`m${turn}`, "What somebody else said."));
    }
    await ada.addCompaction(next(), "m0", "m9");
    await ada.updateMessage(message("m3", next()));
    while (left.length > 0) await ada.replaceContextBlock("facts", next());
    await ada.freezeSystemPrompt();

    const { remaining } = await manager.eraseUser("ada");
    const rows = Object.values(remaining).reduce((sum, count) => sum + count, 0);
    await manager.store.close();
    // An index shares the beginnings of words, so it is their ends that are looked for.
    const files = (await bytesOf(scene, place)).toLowerCase();
    const found = words.filter((word) => files.includes(word.slice(-12)));
    return zero(found.length + rows, "left", found.slice(0, 5));
  },
};
