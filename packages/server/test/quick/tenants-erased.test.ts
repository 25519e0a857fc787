import { StemmaError } from "@stemma/model";
import type { Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  ApiKeys,
  AuditLog,
  authenticator,
  createServer,
  Tenants,
  type TenantsOptions,
  UserTokens,
} from "../../src/index.js";
import { HOST, said } from "./rest-helpers.js";

/** Milliseconds. */
const STEP = 100;

/** Places that stay when their stores are closed, as files do. */
class Places {
  readonly kept = new Map<string, Store>();
  readonly removed: string[] = [];
  isBroken = false;
  onMigrate = async () => {};

  open = (tenant: string): Store => {
    const store = this.kept.get(tenant) ?? memory();
    this.kept.set(tenant, store);
    return { ...store, migrate: () => this.onMigrate(), close: async () => {} };
  };
  names = () => [...this.kept.keys()];
  remove = (tenant: string) => {
    if (this.isBroken) throw new Error("no rights");
    this.removed.push(tenant);
    return this.kept.delete(tenant);
  };
}

const made: Tenants[] = [];
function tenantsOn(places: Places, control: Store, options: TenantsOptions = {}): Tenants {
  const { names, remove } = places;
  const tenants = new Tenants(places.open, { control, names, remove, ...options });
  made.push(tenants);
  return tenants;
}

/** Lets time pass in steps, so that what is done between two timers begins the second one in time, however slow the machine is. */
async function pass(milliseconds: number): Promise<void> {
  for (let left = milliseconds; left > 0; left -= STEP) {
    await vi.advanceTimersByTimeAsync(Math.min(STEP, left));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Lets time pass until some work is over. */
async function after<T>(work: Promise<T>): Promise<T> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  while (!isOver) await pass(STEP);
  return work;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"] });
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(made.splice(0).map((each) => each.close()));
});

describe("a tenant that is erased", () => {
  it("is refused at once, and then its store and its keys are gone, while another's stay", async () => {
    const [places, control] = [new Places(), memory()];
    const tenants = tenantsOn(places, control);
    const keys = new ApiKeys(control);
    const tokens = new UserTokens(control, { audience: HOST });
    const records: unknown[] = [];
    const server = createServer(control, {
      authenticate: authenticator({ keys, tokens }),
      tenants,
      keys,
      tokens,
      onRequest: ({ tenant, status, code }) => records.push([tenant, status, code]),
    });
    const keyOf = async (tenant: string) => (await keys.create({ name: "k", access: "admin", tenant })).key;
    const ask = async (bearer: string, path = "/v1/sessions/chat/messages") => {
      const headers = { authorization: `Bearer ${bearer}` };
      const response = await server(new Request(HOST + path, { headers }));
      return [response.status, ((await response.json()) as { code?: string }).code];
    };
    const [acme, globex] = [await keyOf("acme"), await keyOf("globex")];
    const { token } = await tokens.create({ userId: "ada", tenant: "acme", lasts: 3_600_000 });
    for (const tenant of ["acme", "globex"]) {
      const { store, release } = await tenants.hold(tenant);
      await store.session("chat").append([said("m1")]);
      release();
    }
    expect(await ask(acme)).toEqual([200, undefined]);
    const erasing = tenants.erase("acme");
    await pass(STEP);
    for (const bearer of [acme, token]) expect((await ask(bearer))[1]).toMatch(/TENANT_ERASED|NOT_ALLOWED/);
    expect((await tenants.list())[0]).toEqual({ tenant: "acme", keys: 0, isStored: true, erasure: "erasing" });
    // Twice is once.
    const [one, two] = await after(Promise.all([erasing, tenants.erase("acme")]));
    expect([one, two]).toEqual(Array(2).fill({ keys: 1, wasStored: true }));
    expect([await ask(token), await ask(globex)]).toEqual([
      [410, "TENANT_ERASED"],
      [200, undefined],
    ]);
    expect(records.at(-2)).toEqual(["acme", 410, "TENANT_ERASED"]);
    expect(await after(tenants.erase("acme"))).toEqual({ keys: 0, wasStored: false });
    expect(await tenants.list()).toEqual([
      { tenant: "acme", keys: 0, isStored: false, erasure: "erased" },
      { tenant: "globex", keys: 1, isStored: true, erasure: null },
    ]);
    const told: unknown[] = [];
    for await (const { principal, call, tenant, code } of new AuditLog(control).entries()) {
      told.push([principal, call, tenant, code]);
    }
    expect(told).toEqual(Array(2).fill(["operator", "tenants.erase", "acme", null]));
    // Then no token of it is left, and another one may have the name.
    await vi.advanceTimersByTimeAsync(3_990_000);
    const { store, release } = await tenants.hold("acme");
    expect(await store.sessions.count()).toBe(0);
    release();
  });

  it("is refused by other processes, which close its store under whoever keeps it", async () => {
    const [places, control] = [new Places(), memory()];
    const [one, two] = [tenantsOn(places, control), tenantsOn(places, control)];
    const { store } = await two.hold("acme");
    await store.session("chat").append([said("m1")]);
    const erasing = one.erase("acme");
    await pass(2_500);
    await expect(two.hold("acme")).rejects.toMatchObject({ code: "TENANT_ERASED", details: { tenant: "acme" } });
    expect(places.removed).toEqual([]);
    await after(erasing);
    await expect(store.session("chat").length()).rejects.toMatchObject({ code: "TENANT_ERASED" });
    expect([places.removed, places.names()]).toEqual([["acme"], []]);
  });

  it("is erased by whoever is left where a process ended amid it, or could not remove it", async () => {
    const [places, control] = [new Places(), memory()];
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    places.isBroken = true;
    places.open("acme");
    await expect(after(tenantsOn(places, control).erase("acme"))).rejects.toThrow("no rights");
    await made[0]?.close();
    const other = tenantsOn(places, control, { onError });
    await pass(40_000);
    expect(errors.map(String)).toEqual(["Error: no rights"]);
    await expect(other.hold("acme")).rejects.toMatchObject({ code: "TENANT_ERASED" });
    places.isBroken = false;
    await pass(40_000);
    expect(places.names()).toEqual([]);
    expect((await other.list()).map(({ erasure }) => erasure)).toEqual(["erased"]);
  });

  it("leaves nothing behind where its store is opened by a process that stood still", async () => {
    const [places, control] = [new Places(), memory()];
    const [one, two] = [tenantsOn(places, control), tenantsOn(places, control)];
    let goOn = () => {};
    places.onMigrate = () =>
      new Promise((resolve) => {
        goOn = resolve;
      });
    const held = expect(two.hold("acme")).rejects.toMatchObject({ code: "TENANT_ERASED" });
    await pass(STEP);
    await after(one.erase("acme"));
    places.open("acme");
    goOn();
    await held;
    expect(places.names()).toEqual([]);
  });

  it("stays a tenant where what has its name is another program's", async () => {
    const [places, control] = [new Places(), memory()];
    const remove = () => {
      throw new StemmaError("INVALID_ARGUMENT", {}, "It is another program's.");
    };
    const tenants = tenantsOn(places, control, { remove });
    await expect(after(tenants.erase("acme"))).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    (await tenants.hold("acme")).release();
  });

  it("needs a place that is known, and a name", async () => {
    const [places, control] = [new Places(), memory()];
    await expect(tenantsOn(places, control).erase("../x")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    const without = new Tenants(places.open);
    await expect(without.erase("acme")).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    await expect(without.list()).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    await expect(tenantsOn(places, control, { remove: undefined }).erase("acme")).rejects.toMatchObject({
      code: "STORE_UNSUPPORTED",
    });
    expect(() => new Tenants(places.open, { control: {} as Store })).toThrow();
  });
});
