// Row-level security where rows are spread by session over a cluster of Citus.
import { afterEach, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { hashingEmbedder } from "../../../packages/stemma/src/testing.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { textMessage } from "../../helpers/messages.js";
import { describeCitus } from "../../postgres/citus.js";
import { POLICIES } from "../../postgres/policies.js";

const BY_SETTING = "nullif(current_setting('app.tenant', true), '')";

describeCitus("row-level security on Citus, rows by session", (cluster) => {
  const roles = [`acme${process.pid}`, `globex${process.pid}`] as const;
  let schema = "";

  // As the pages say, in a schema, with what tells the tenant.
  async function protect(tenant: string): Promise<void> {
    schema = cluster.nextSchema();
    const url = cluster.urlWith({ "citus.shard_count": "8" });
    const owner = postgres(url, { schema, citus: true });
    await owner.migrate();
    await owner.withEmbedder(hashingEmbedder()).embeddings.backlog();
    await owner.close();
    for (const role of roles) await cluster.query(`CREATE ROLE ${role} LOGIN`);
    const policies = POLICIES.replace(BY_SETTING, () => tenant).replaceAll("SCHEMA public", `SCHEMA ${schema}`);
    const granted = policies.replace(/(TO|FROM) app;/g, (_, word) => `${word} ${roles.join(", ")};`);
    const before = `SET search_path = ${schema}, public; SET citus.multi_shard_modify_mode = 'sequential';`;
    await cluster.runScript(`${before} ${granted}`, url);
  }

  const openAs = (role: string, settings: Readonly<Record<string, string>> = {}): Store => {
    const url = new URL(cluster.urlWith(settings));
    url.username = role;
    return postgres(url.href, { schema });
  };

  afterEach(async () => {
    await cluster.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    for (const role of roles) await cluster.query(`DROP ROLE IF EXISTS ${role}`);
  });

  it("keeps tenants apart who are roles", async () => {
    await protect("current_user::text");
    const [acme, globex] = roles.map((role) => openAs(role)) as [Store, Store];
    for (const [store, word] of [
      [acme, "xylophone"],
      [globex, "trombone"],
    ] as const) {
      const session = Session.create(store).forSession("one").withContext("memory");
      await session.appendMessage(textMessage("a", `a ${word}`));
      await session.appendAll(Array.from({ length: 12 }, (_, index) => textMessage(`m${index}`, `more ${word}`)));
      await store
        .forUser("ada")
        .session("two")
        .append([textMessage("a", `ada's ${word}`)], undefined);
      await session.updateMessage(textMessage("a", `the ${word}`));
      await session.addCompaction("They spoke of it.", "a", "m3");
      await session.deleteMessages(["m11"]);
      await session.replaceContextBlock("memory", word);
      await store.entries.set({ sessionId: "one", label: "facts" }, { key: "sky", content: word });
      await store.records.set({ sessionId: "one", label: "runs" }, "k", new Uint8Array([1]));
      await store.sessions.addUsage("one", 1, 1, 0, "large");
      expect(await session.search(word, { limit: 50 })).toHaveLength(12);
    }
    for (const [store, own, other] of [
      [acme, "xylophone", "trombone"],
      [globex, "trombone", "xylophone"],
    ] as const) {
      const manager = SessionManager.create(store);
      expect(await manager.search(own, { limit: 50 })).toHaveLength(13);
      expect(await manager.search(other)).toEqual([]);
      expect((await manager.list()).map(({ id }) => id).sort()).toEqual(["one", "two"]);
      expect((await manager.getSession("one").getMessage("a"))?.parts[0]?.text).toBe(`the ${own}`);
      // Citus copies rows from one session to another by COPY, which Postgres refuses where there are policies.
      await expect(manager.fork("one", "m5", "Copy")).rejects.toThrow(
        "COPY FROM not supported with row-level security",
      );
      expect((await store.check?.())?.problems).toEqual([]);
    }
    await SessionManager.create(globex).delete("one");
    expect(await acme.sessions.count()).toBe(2);
    for (const store of [acme, globex]) await store.close();
  });

  it("refuses everything where a setting tells the tenant: the workers do not have it", async () => {
    await protect(BY_SETTING);
    const store = openAs(roles[0], { "app.tenant": "acme" });
    await expect(store.session("one").append([textMessage("a")], undefined)).rejects.toThrow(/row-level security/);
    expect((await store.session("one").path()).messages).toEqual([]);
    await store.close();
  });
});
