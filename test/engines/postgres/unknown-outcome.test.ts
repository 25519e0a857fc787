import pg from "pg";
import { afterEach, beforeEach, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

type Query = (config: { readonly text?: string }) => Promise<unknown>;

describeServer("a write whose connection is lost when the server has committed it", (server) => {
  let pool: pg.Pool;
  let store: Store;
  /** Says how an attempt ends; it is done all the same where that is "lost". */
  let end: (attempt: number) => "lost" | "refused" | "ended" | "well";
  let attempts: number;

  const ending =
    (query: Query): Query =>
    async (config) => {
      if (!/assistant_append|^COMMIT/.test(config.text ?? "")) return query(config);
      attempts += 1;
      const how = end(attempts);
      if (how === "refused") throw Object.assign(new Error("sorry, too many clients already"), { code: "53300" });
      // The server had just ended a connection that was idle for long.
      if (how === "ended") throw Object.assign(new Error("terminating connection"), { code: "57P05" });
      const result = await query(config);
      if (how === "lost") throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
      return result;
    };
  const intercepted = <T extends pg.Pool | pg.PoolClient>(inner: T): T =>
    new Proxy(inner, {
      get: (target, name) => {
        if (name === "connect") return async () => intercepted((await target.connect()) as unknown as pg.PoolClient);
        const value = name === "query" ? ending(target.query.bind(target) as Query) : Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });

  beforeEach(async () => {
    pool = new pg.Pool({ connectionString: await server.createDatabase() });
    end = () => "well";
    store = postgres(intercepted(pool));
    for (const id of ["a", "b"]) await store.session(id).append([textMessage("first")]);
    attempts = 0;
  });
  afterEach(() => pool.end());

  const append = (id: string) => store.session(id).append([textMessage("second")]);
  const idsOf = async (id: string) => (await store.session(id).path()).messages.map((message) => message.id);

  it("is made once where another attempt succeeds", async () => {
    end = (attempt) => (attempt === 1 ? "lost" : "well");
    await append("a");
    expect(await idsOf("a")).toEqual(["first", "second"]);
  });

  it("is sent again where it met the end of an idle connection", async () => {
    end = (attempt) => (attempt === 1 ? "ended" : "well");
    await Promise.all([append("a"), append("b")]);
    end = (attempt) => (attempt === 1 ? "ended" : "well");
    attempts = 0;
    await store.session("a").appendSibling("second", textMessage("third"));
    expect([await idsOf("a"), await idsOf("b")]).toEqual([
      ["first", "third"],
      ["first", "second"],
    ]);
  });

  it("fails as one of which nobody knows where no other attempt is let in", async () => {
    end = (attempt) => (attempt === 1 ? "lost" : "refused");
    await expect(append("a")).rejects.toMatchObject({ code: "CONNECTION_LOST", cause: { code: "53300" } });
    expect(await idsOf("a")).toEqual(["first", "second"]);
  });

  it("does so where it shared a statement with others", async () => {
    end = (attempt) => (attempt === 1 ? "lost" : "refused");
    const settled = await Promise.allSettled([append("a"), append("b")]);
    expect(settled.map((one) => one.status === "rejected" && one.reason.code)).toEqual([
      "CONNECTION_LOST",
      "CONNECTION_LOST",
    ]);
    expect([await idsOf("a"), await idsOf("b")]).toEqual(Array(2).fill(["first", "second"]));
  });

  it("does so where it was a transaction", async () => {
    end = (attempt) => (attempt === 1 ? "lost" : "refused");
    const call = store.session("a").appendSibling("first", textMessage("second"));
    await expect(call).rejects.toMatchObject({ code: "CONNECTION_LOST", cause: { code: "53300" } });
    end = () => "well";
    expect(await store.session("a").message("second")).not.toBeNull();
  });

  it("is told apart from one that the data refuse", async () => {
    await store.session("b").delete(["first"]);
    attempts = 0;
    end = (attempt) => (attempt === 1 ? "lost" : "well");
    const call = store.session("b").append([textMessage("second")], "nobody");
    await expect(call).rejects.toMatchObject({ code: "PARENT_NOT_FOUND" });
  });

  it("says that it was refused where nothing was sent before", async () => {
    end = () => "refused";
    await expect(append("a")).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(await idsOf("a")).toEqual(["first"]);
  });
});
