import type { Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Principal, type Quota, Quotas } from "../../src/index.js";

const NOON = Date.parse("2026-11-28T12:00:30Z");
const of = (quota: Quota, id = "key"): Principal => ({ id, access: "memory", quota });
const COUNTS = { sessionId: "", label: "stemma:quotas" };

beforeEach(() => void vi.useFakeTimers({ now: NOON, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** Sends requests one after the other until one is refused. */
async function countUntilRefused(quotas: Quotas, principal: Principal, most = 10_000): Promise<number> {
  for (let done = 0; done < most; done += 1) {
    const refused = await quotas.count(principal).then(
      () => false,
      () => true,
    );
    if (refused) return done;
  }
  return most;
}

/** A store that counts its writes of records. */
function counting(store: Store = memory()) {
  const writes = { count: 0 };
  const set: Store["records"]["set"] = (...values) => {
    writes.count += 1;
    return store.records.set(...values);
  };
  return { store: { ...store, records: { ...store.records, set } }, writes };
}

describe("a quota", () => {
  it.each([
    ["requestsPerMinute", "2026-11-28T12:01:00.000Z", 30],
    ["requestsPerDay", "2026-11-29T00:00:00.000Z", 43_170],
  ] as const)(
    "%s lets through what it has, says when it begins anew, and does so",
    async (quota, resetsAt, retryAfter) => {
      const quotas = new Quotas(memory());
      const principal = of({ [quota]: 37 });
      expect(await countUntilRefused(quotas, principal)).toBe(37);
      const details = { quota, limit: 37, used: 37, resetsAt };
      await expect(quotas.count(principal)).rejects.toMatchObject({
        code: "QUOTA_EXCEEDED",
        details: { ...details, retryAfter },
      });
      expect(await quotas.usage(principal)).toEqual([details]);
      vi.setSystemTime(Date.parse(resetsAt) - 1);
      expect(await countUntilRefused(quotas, principal)).toBe(0);
      vi.setSystemTime(Date.parse(resetsAt));
      expect(await countUntilRefused(quotas, principal)).toBe(37);
    },
  );

  it("counts writes and bytes apart from requests, and nothing of what it refuses", async () => {
    const quotas = new Quotas(memory());
    const principal = of({ requestsPerDay: 100, writesPerDay: 3, bytesPerDay: 1_000 });
    const write = (bytes: number) => quotas.count(principal, { requests: 1, writes: 1, bytes });
    await write(600);
    await expect(write(401)).rejects.toMatchObject({ details: { quota: "bytesPerDay", used: 600 } });
    await write(400);
    await write(0);
    await expect(write(0)).rejects.toMatchObject({ details: { quota: "writesPerDay", used: 3 } });
    await quotas.count(principal);
    expect((await quotas.usage(principal)).map(({ quota, used }) => [quota, used])).toEqual([
      ["requestsPerDay", 4],
      ["writesPerDay", 3],
      ["bytesPerDay", 1_000],
    ]);
  });

  it("is shared by all processes, which never let through more than it has", async () => {
    const store = memory();
    const processes = Array.from({ length: 5 }, () => new Quotas(store));
    const principal = of({ requestsPerDay: 1_000 });
    const counts = await Promise.all(processes.map((quotas) => countUntilRefused(quotas, principal)));
    const sum = counts.reduce((all, each) => all + each);
    expect(sum).toBe(1_000);
  });

  it("holds in a flood of requests at once", async () => {
    const { store, writes } = counting();
    const processes = [new Quotas(store), new Quotas(store)];
    const principal = of({ requestsPerDay: 500 });
    const flood = Array.from({ length: 4_000 }, (_, n) => processes[n % 2]?.count(principal));
    const done = (await Promise.allSettled(flood)).filter(({ status }) => status === "fulfilled").length;
    expect(done).toBe(500);
    expect(writes.count).toBeLessThan(250);
  });

  it("costs the database far fewer writes than requests, and none once it is used up", async () => {
    const writesFor = async (quota: Quota) => {
      const { store, writes } = counting();
      await countUntilRefused(new Quotas(store), of(quota));
      return writes.count;
    };
    expect(await writesFor({ requestsPerDay: 10_000 })).toBeLessThanOrEqual(100);
    expect(await writesFor({ requestsPerMinute: 600 })).toBeLessThanOrEqual(65);
    const { store, writes } = counting();
    const reads = vi.spyOn(store.records, "get");
    const quotas = new Quotas(store);
    await countUntilRefused(quotas, of({ requestsPerDay: 10 }));
    const before = [writes.count, reads.mock.calls.length];
    for (let turn = 0; turn < 100; turn += 1) await quotas.count(of({ requestsPerDay: 10 })).catch(() => {});
    expect([writes.count, reads.mock.calls.length]).toEqual(before);
  });

  it("loses with a process that is killed no more than that used, and a tenth of what was left", async () => {
    for (const used of [1, 2, 3, 10, 100, 1_000, 5_000, 9_000, 9_999]) {
      const store = memory();
      const principal = of({ requestsPerDay: 10_000 });
      const killed = new Quotas(store);
      for (let turn = 0; turn < used; turn += 1) await killed.count(principal);
      const counted = (await new Quotas(store).usage(principal))[0]?.used ?? 0;
      const lost = counted - used;
      expect(lost).toBeGreaterThanOrEqual(0);
      expect(lost).toBeLessThanOrEqual(Math.min(used, (10_000 - used) / 10 + 1));
      await killed.flush();
      expect((await new Quotas(store).usage(principal))[0]?.used).toBe(used);
    }
  });

  it("is not begun anew by a clock that goes back", async () => {
    const store = memory();
    const principal = of({ requestsPerDay: 10 });
    const quotas = new Quotas(store);
    expect(await countUntilRefused(quotas, principal)).toBe(10);
    vi.setSystemTime(NOON + 86_400_000);
    expect(await countUntilRefused(quotas, principal)).toBe(10);
    vi.setSystemTime(NOON);
    expect(await countUntilRefused(quotas, principal)).toBe(0);
    expect(await countUntilRefused(new Quotas(store), principal)).toBe(0);
  });

  it("of an id that is long, or holds anything, is as any other", async () => {
    const store = memory();
    const quota = { requestsPerDay: 2 };
    for (const id of ["\0", "x".repeat(100_000), "💩 a/b", "key", "key "]) {
      expect(await countUntilRefused(new Quotas(store), of(quota, id))).toBe(2);
    }
  });

  it("may become another one at any time", async () => {
    const quotas = new Quotas(memory());
    expect(await countUntilRefused(quotas, of({ requestsPerDay: 5 }))).toBe(5);
    expect(await countUntilRefused(quotas, of({ requestsPerDay: 8 }))).toBe(3);
    expect(await countUntilRefused(quotas, of({ requestsPerDay: 4 }))).toBe(0);
    expect(await quotas.usage(of({ requestsPerDay: 4 }))).toMatchObject([{ limit: 4, used: 4 }]);
  });

  it("of the server is for all who have none, but administrators; each user has it", async () => {
    const quotas = new Quotas(memory(), { quota: { requestsPerDay: 3 } });
    const count = (principal: Principal) => countUntilRefused(quotas, principal, 20);
    expect(await count({ id: "a", access: "memory" })).toBe(3);
    expect(await count({ id: "b", access: "memory" })).toBe(3);
    expect(await count(of({ requestsPerDay: 5 }, "c"))).toBe(5);
    expect(await count(of({}, "d"))).toBe(20);
    expect(await count({ id: "admin", access: "admin" })).toBe(20);
    expect(await count({ id: "of a tenant", access: "admin", tenant: "acme" })).toBe(3);
    expect(await count({ ...of({ requestsPerDay: 2 }, "e"), access: "admin" })).toBe(2);
  });

  it("lets in whom the database cannot count, and tells", async () => {
    const store = memory();
    const get = vi.spyOn(store.records, "get").mockRejectedValue(new Error("down"));
    const onError = vi.fn();
    const quotas = new Quotas(store, { onError });
    const principal = of({ requestsPerDay: 2 });
    expect(await countUntilRefused(quotas, principal, 5)).toBe(5);
    expect(onError).toHaveBeenCalledTimes(5);
    get.mockRestore();
    expect(await countUntilRefused(quotas, principal)).toBe(2);
  });

  it("leaves rows that expire, one for each limit", async () => {
    const store = memory();
    const quotas = new Quotas(store);
    await countUntilRefused(quotas, of({ requestsPerMinute: 50, requestsPerDay: 500 }));
    const rows = await store.records.list(COUNTS);
    expect(rows.map(({ expiresAt }) => new Date(expiresAt ?? 0).toISOString()).sort()).toEqual([
      "2026-11-28T13:01:00.000Z",
      "2026-11-30T00:00:00.000Z",
    ]);
    vi.setSystemTime(NOON + 5 * 86_400_000);
    await quotas.count(of({ requestsPerDay: 5 }, "another"));
    expect(await store.records.list(COUNTS)).toHaveLength(1);
  });

  it.each([
    { requestsPerDay: 0 },
    { writesPerDay: -1 },
    { bytesPerDay: 1.5 },
    { bytesPerDay: 1e15 },
    { requestsPerDay: "7" },
    { requestsPerDay: Number.NaN },
    { writesPerDay: undefined },
    { perDay: 1 },
    null,
    "many",
  ])("is refused as %j", (quota) => {
    const refused = expect.objectContaining({ code: "INVALID_ARGUMENT" });
    expect(() => new Quotas(memory(), { quota: quota as never })).toThrow(refused);
  });

  it.each([{ requests: -1 }, { writes: 0.5 }, { bytes: Number.NaN }, { tokens: 1 }])(
    "counts no such cost as %j",
    async (cost) => {
      await expect(new Quotas(memory()).count(of({ requestsPerDay: 9 }), cost as never)).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    },
  );
});

describe("the quota of a tenant", () => {
  const principal = (id: string, tenant: string, quota?: Quota): Principal => ({
    id,
    access: "memory",
    tenant,
    ...(quota && { quota }),
  });

  it("is used up by all of its keys together, whatever they have themselves, and by no other tenant's", async () => {
    const store = memory();
    const [one, two] = [1, 2].map(() => new Quotas(store, { tenantQuota: { writesPerDay: 10 } })) as [Quotas, Quotas];
    const write = async (quotas: Quotas, id: string, tenant: string, quota?: Quota) =>
      quotas.count(principal(id, tenant, quota), { writes: 1 }).then(
        () => "done",
        ({ details }) => details.of ?? "own",
      );
    const told: string[] = [];
    for (let n = 0; n < 12; n += 1) told.push(await write(n % 2 === 0 ? one : two, `key ${n % 3}`, "acme"));
    expect(told.filter((each) => each === "done")).toHaveLength(10);
    expect(told.slice(-2)).toEqual(["tenant", "tenant"]);
    expect(await write(one, "key 0", "globex", { writesPerDay: 1 })).toBe("done");
    expect(await write(one, "key 0", "globex", { writesPerDay: 1 })).toBe("own");
    // What its own quota refuses does not use up the tenant's.
    expect(await one.usage(principal("key 0", "globex", { writesPerDay: 1 }))).toMatchObject([
      { quota: "writesPerDay", limit: 1, used: 1 },
      { quota: "writesPerDay", of: "tenant", limit: 10, used: 1 },
    ]);
    expect(one.states(principal("key 0", "globex", { writesPerDay: 1 })).map(({ name }) => name)).toEqual([
      "writesPerDay",
      "tenant-writesPerDay",
    ]);
    // Neither a key that is called so, nor one of no tenant, has it.
    await one.count({ id: "tenant acme", access: "memory" }, { writes: 50 });
    await expect(one.count({ id: "admin", access: "admin", tenant: "acme" }, { writes: 1 })).rejects.toMatchObject({
      code: "QUOTA_EXCEEDED",
    });
  });
});
