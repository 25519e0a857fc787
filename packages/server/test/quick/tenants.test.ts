import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { describe, expect, it, vi } from "vitest";
import { Tenants } from "../../src/index.js";
import { said } from "./rest-helpers.js";

/** Stores that stay what they are when they are closed, as files do, and what became of them. */
function world(max = 2, make: () => Store = memory) {
  const kept = new Map<string, Store>();
  const told: string[] = [];
  const open = new Set<string>();
  let most = 0;
  const tenants = new Tenants(
    async (tenant) => {
      const store = kept.get(tenant) ?? make();
      kept.set(tenant, store);
      told.push(`open ${tenant}`);
      let isClosed = false;
      const sessions = Object.entries(store.sessions).map(([name, method]) => {
        const call = async (...values: unknown[]) => {
          if (isClosed) throw new Error(`the store of ${tenant} is closed`);
          return (method as (...values: unknown[]) => unknown)(...values);
        };
        return [name, call];
      });
      return {
        ...store,
        sessions: Object.fromEntries(sessions),
        session: store.session,
        migrate: async () => {
          await sleep(1);
          open.add(tenant);
          most = Math.max(most, open.size);
          told.push(`migrate ${tenant}`);
        },
        close: async () => {
          isClosed = true;
          told.push(`close ${tenant}`);
          await sleep(1);
          open.delete(tenant);
        },
      };
    },
    { max },
  );
  return { tenants, told, open, most: () => most };
}

describe("Tenants", () => {
  it("opens and migrates a store once, however many come", async () => {
    const { tenants, told } = world();
    const held = await Promise.all(Array.from({ length: 50 }, () => tenants.hold("acme")));
    expect(told).toEqual(["open acme", "migrate acme"]);
    await Promise.all(held.map(({ store }, n) => store.sessions.create({ id: `s${n}`, name: "" })));
    for (const { release } of held) release();
    expect(await held[0]?.store.sessions.count()).toBe(50);
  });

  it("closes the one that was used longest ago, and opens it again when it is called", async () => {
    const { tenants, told } = world();
    const { store, release } = await tenants.hold("a");
    release();
    for (const name of ["b", "a", "c"]) (await tenants.hold(name)).release();
    expect(told.filter((each) => !each.startsWith("migrate"))).toEqual(["open a", "open b", "close b", "open c"]);
    for (const name of ["b", "c"]) (await tenants.hold(name)).release();
    // Whoever kept the store meets no closed one, nor does a user's part of it.
    await store.forUser("ada").sessions.create({ id: "chat", name: "A chat" });
    expect(await store.sessions.get("chat")).toMatchObject({ user_id: "ada" });
    expect(told.at(-2)).toBe("open a");
  });

  it("closes none that is held, and none while a call or a stream runs", async () => {
    const { tenants, told } = world(1);
    const { store, release } = await tenants.hold("a");
    await store.session("chat").append([said("1"), said("2")]);
    const waiting = tenants.hold("b");
    await sleep(30);
    expect(told).not.toContain("close a");
    const stream = store.session("chat").stream()[Symbol.asyncIterator]();
    await stream.next();
    release();
    // Once more does nothing.
    release();
    await sleep(30);
    expect(told).not.toContain("close a");
    await stream.return?.();
    (await waiting).release();
    expect(told.slice(-3)).toEqual(["close a", "open b", "migrate b"]);
  });

  it("reads a stream to its end, and lets go then", async () => {
    const { tenants, told } = world(1);
    const { store, release } = await tenants.hold("a");
    await store.session("chat").append([said("1"), said("2")]);
    release();
    const ids: string[] = [];
    for await (const { id } of store.session("chat").stream()) ids.push(id);
    expect(ids).toEqual(["1", "2"]);
    (await tenants.hold("b")).release();
    expect(told).toContain("close a");
  });

  it("makes calls in their order, although the store has to be opened for them", async () => {
    const kept = memory();
    let onTurn = () => {};
    const migrate = async () => {
      let turn = Promise.resolve();
      // They go on while those who wait are told that it is open.
      for (let n = 0; n < 30; n += 1) turn = turn.then(() => onTurn());
    };
    const open = () => ({ ...kept, session: kept.session, migrate, close: async () => {} });
    const tenants = new Tenants(open, { max: 1 });
    const { store, release } = await tenants.hold("a");
    release();
    (await tenants.hold("b")).release();
    const session = store.session("chat");
    const calls: Promise<unknown>[] = [];
    const append = () => {
      if (calls.length < 31) calls.push(session.append([said(String(calls.length))]));
    };
    append();
    onTurn = append;
    await expect.poll(() => calls.length).toBe(31);
    await Promise.all(calls);
    const found: string[] = [];
    for await (const { id } of session.stream()) found.push(id);
    expect(found).toEqual(Array.from({ length: 31 }, (_, n) => String(n)));
  });

  it("refuses after ten seconds where all are held", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
    try {
      const { tenants } = world(1);
      const first = tenants.hold("a");
      await vi.advanceTimersByTimeAsync(20);
      const { release } = await first;
      const refused = expect(tenants.hold("b")).rejects.toMatchObject({ code: "TENANTS_BUSY", details: { max: 1 } });
      await vi.advanceTimersByTimeAsync(11_000);
      await refused;
      release();
    } finally {
      vi.useRealTimers();
    }
  });

  it("tries again what could not be opened, and tells all who came of it", async () => {
    let failures = 2;
    const closed: string[] = [];
    const tenants = new Tenants(
      (tenant) => {
        failures -= 1;
        if (failures === 1) throw new Error("no room on the disk");
        const store = memory();
        const fails = failures === 0;
        return {
          ...store,
          migrate: async () => {
            if (fails) throw new Error("no rights");
          },
          close: async () => void closed.push(tenant),
        };
      },
      { max: 1 },
    );
    const first = await Promise.allSettled([tenants.hold("a"), tenants.hold("a")]);
    expect(first.map((each) => String((each as PromiseRejectedResult).reason))).toEqual(
      Array(2).fill("Error: no room on the disk"),
    );
    await expect(tenants.hold("a")).rejects.toThrow("no rights");
    expect(closed).toEqual(["a"]);
    // What failed takes no room.
    (await tenants.hold("b")).release();
  });

  it.each([
    "",
    ".",
    "..",
    "../acme",
    "a/b",
    "a\\b",
    "a.db",
    "a\0",
    "a\n",
    "Acme",
    "é",
    "-a",
    "_a",
    "a b",
    "con",
    "lpt1",
    "a".repeat(49),
    'a"; DROP SCHEMA public',
    1,
    null,
    undefined,
    ["acme"],
    { toString: () => "acme" },
  ])("opens nothing for %j, which is no name", async (name) => {
    const { tenants, told } = world();
    await expect(tenants.hold(name as string)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(told).toEqual([]);
  });

  it("keeps 20 of 600 open, and no call of theirs fails", async () => {
    const like = memory();
    // To make tables for 600 would take seconds.
    const named = (): Store => {
      const names = new Map<string, string>();
      const create = async ({ id, name }: { id: string; name: string }) => void names.set(id, name);
      const get = async (id: string) => ({ name: names.get(id) });
      return { ...like, session: like.session, sessions: { ...like.sessions, create, get } as never };
    };
    const { tenants, most, open } = world(20, named);
    const rounds = Array.from({ length: 600 }, async (_, n) => {
      const { store, release } = await tenants.hold(`t${n}`);
      try {
        await store.sessions.create({ id: "chat", name: `of t${n}` });
        await sleep(n % 3);
        return [n, (await store.sessions.get("chat"))?.name, store] as const;
      } finally {
        release();
      }
    });
    const all = await Promise.all(rounds);
    expect(all.filter(([n, name]) => name !== `of t${n}`)).toEqual([]);
    expect(most()).toBe(20);
    // Unheld, through stores that were kept.
    const again = await Promise.all(all.map(async ([n, , store]) => [n, (await store.sessions.get("chat"))?.name]));
    expect(again.filter(([n, name]) => name !== `of t${n}`)).toEqual([]);
    expect([most(), open.size <= 20]).toEqual([20, true]);
  });

  it("closes all at the end, and opens none any more", async () => {
    const { tenants, told } = world();
    const { store } = await tenants.hold("a");
    const opening = tenants.hold("b");
    await expect.poll(() => told, { interval: 1 }).toContain("open b");
    const waiting = tenants.hold("c");
    const refused = expect(waiting).rejects.toMatchObject({ code: "STORE_CLOSED" });
    await tenants.close();
    await tenants.close();
    expect(told.filter((each) => each.startsWith("close")).sort()).toEqual(["close a", "close b"]);
    await opening;
    await refused;
    await expect(tenants.hold("a")).rejects.toMatchObject({ code: "STORE_CLOSED" });
    await expect(store.sessions.get("chat")).rejects.toMatchObject({ code: "STORE_CLOSED" });
  });

  it("refuses what is no function, no number and no store", async () => {
    expect(() => new Tenants("acme" as never)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    expect(() => new Tenants(() => memory(), { max: 0 })).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
    await expect(new Tenants(() => ({}) as never).hold("a")).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
  });
});
