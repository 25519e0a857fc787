import { assertArgument, check, defineOptions, raceWithTimer, StemmaError, sleep } from "@stemma/model";
import { assertStore, type Store } from "@stemma/store";
import { ApiKeys } from "../access/api-keys.js";
import { AuditLog, noted } from "../access/audit-log.js";
import { isTenantName, TENANT_NAME } from "../access/principal.js";
import { ErasedTenants, FRESH_FOR, type Held, tenantStore } from "./tenant-store.js";

export interface TenantsOptions {
  /** Stores that are open at once. Default 500. */
  readonly max?: number | undefined;
  /** The server's own store, which holds keys and knows which tenants are erased. Needed by `erase` and `list`. */
  readonly control?: Store | undefined;
  /** Removes a tenant's file or schema once its store is closed; resolves to whether it was there. May be called again. Needed by `erase`. */
  readonly remove?: ((tenant: string) => Promise<boolean> | boolean) | undefined;
  /** The names of the tenants that have a file or a schema. Default: `list` knows those that have keys. */
  readonly names?: (() => Promise<readonly string[]> | readonly string[]) | undefined;
  /** Gets what kept an erasure from going on that another process began. It is tried again. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** One tenant, as a list shows it. */
export interface TenantInfo {
  readonly tenant: string;
  /** API keys of the tenant that are valid. */
  readonly keys: number;
  /** True for one that has a file or a schema. */
  readonly isStored: boolean;
  /** `erasing`; `erased` for an hour after it; null for any other tenant. */
  readonly erasure: "erasing" | "erased" | null;
}

/** The outcome of an erasure: zero and false where a former one had done it. */
export interface ErasedTenant {
  /** API keys that were revoked. */
  readonly keys: number;
  /** True where a file or a schema was removed. */
  readonly wasStored: boolean;
}

const TENANTS = defineOptions<TenantsOptions>({
  max: check.whole(1),
  control: (store) => assertStore(store, "The control of Tenants"),
  remove: check.callable,
  names: check.callable,
  onError: check.callable,
});
const MAX = 500;
/** Milliseconds in which the requests of a tenant that is erased may end. */
const END_WITHIN = 3_000;
/** Then all processes have closed its store. */
const CLOSED_WITHIN = FRESH_FOR + END_WITHIN + 500;
/** Milliseconds that a request waits where all stores are in use. */
const ROOM_WITHIN = 10_000;

const tenantName = check.rule(TENANT_NAME, isTenantName);

/** A store that is being opened, is open, or is being closed. */
interface Tenant {
  /** Requests, calls and streams that use it. */
  holds: number;
  readonly opened: Promise<Open>;
  open?: Open;
  closed?: Promise<void>;
}

interface Open {
  readonly store: Store;
  /** Given to others: it outlives the store. */
  readonly face: Store;
}

/**
 * A store for each tenant of a server, which `open` makes: of a file, of a schema. It is opened and migrated at its first use, once,
 * however many come; what failed is tried again by the next. Where more than `max` would be open, the one that was used longest ago
 * is closed, and none that a request, a call or a stream uses. Errors: `INVALID_ARGUMENT`.
 * @example
 * import { ApiKeys, authenticator, createServer, Tenants } from "stemma/server";
 * import { sqlite } from "stemma/sqlite";
 *
 * const server = createServer(store, {
 *   authenticate: authenticator({ keys: new ApiKeys(store) }),
 *   tenants: new Tenants((tenant) => sqlite(`tenants/${tenant}.db`)),
 * });
 */
export class Tenants {
  /** The one that was used longest ago comes first. */
  readonly #tenants = new Map<string, Tenant>();
  readonly #max: number;
  /** Stores that are open, are being opened or closed. */
  #taken = 0;
  #closing = 0;
  /** Those who wait until fewer are, in their order. */
  readonly #waiting = new Set<() => void>();
  #isClosed = false;
  readonly #erased: ErasedTenants | undefined;
  /** Erasures that run in this process. */
  readonly #erasing = new Map<string, Promise<ErasedTenant>>();

  constructor(
    private readonly open: (tenant: string) => Store | Promise<Store>,
    private readonly options: TenantsOptions = {},
  ) {
    assertArgument(check.callable, open, "The first argument of Tenants");
    TENANTS.assert(options, "Tenants");
    const { control } = options;
    this.#max = options.max ?? MAX;
    this.#erased = control === undefined ? undefined : new ErasedTenants(control, () => this.#heed());
  }

  /**
   * Opens a tenant's store, and keeps it open until `release` is called. The store can be used afterwards, too: a call opens it again.
   * Closing it closes nothing. Errors: `INVALID_ARGUMENT` for what is no name of a tenant; `TENANTS_BUSY` where `max` others are in use
   * for ten seconds; `TENANT_ERASED`; `STORE_CLOSED`; those of `open`, and of `migrate`.
   */
  async hold(tenant: string): Promise<{ readonly store: Store; readonly release: () => void }> {
    assertArgument(tenantName, tenant, "The name of a tenant");
    const { face, release } = await this.#held(tenant);
    return { store: face, release };
  }

  /**
   * Erases a tenant while servers run: from now on its requests fail with `TENANT_ERASED`, in every process within two seconds. Its keys are revoked, its
   * store is closed, also under requests that take longer than three seconds, and its file or schema is removed. For an hour the name stays refused, until the last
   * token has expired. It takes some six seconds, is noted in the audit log of `control`, and may be repeated; what a process left
   * that was killed, any other with `control` brings to an end within a minute. Errors: `INVALID_ARGUMENT`; `STORE_UNSUPPORTED` without `control` and `remove`;
   * those of `remove` and of the stores.
   */
  erase(tenant: string): Promise<ErasedTenant> {
    const known = this.#erasing.get(tenant);
    if (known !== undefined) return known;
    const erasing = this.#erase(tenant).finally(() => this.#erasing.delete(tenant));
    this.#erasing.set(tenant, erasing);
    return erasing;
  }

  /** The tenants that have keys, a file or a schema, and those that are being erased, by name. Errors: `STORE_UNSUPPORTED` without `control`; those of `names` and of the store. */
  async list(): Promise<TenantInfo[]> {
    const { control, names } = this.options;
    if (control === undefined || this.#erased === undefined) throw unsupported("control");
    const [stored, keys] = await Promise.all([names?.() ?? [], new ApiKeys(control).list(), this.#erased.refresh()]);
    const counts = new Map<string, number>();
    for (const { tenant } of keys) if (tenant !== undefined) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    const { states } = this.#erased;
    return [...new Set([...stored, ...counts.keys(), ...states.keys()])].sort().map((tenant) => ({
      tenant,
      keys: counts.get(tenant) ?? 0,
      isStored: stored.includes(tenant),
      erasure: states.get(tenant) ?? null,
    }));
  }

  /** Closes all stores, once the calls that were made before are over. Every later call fails with `STORE_CLOSED`. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#erased?.close();
    this.#letIn();
    const all = [...this.#tenants].map(async ([name, tenant]) => {
      // What cannot be opened is told to whoever asked for it.
      if ((await tenant.opened.catch(() => null)) !== null) await this.#close(name, tenant);
    });
    await Promise.all(all);
    await Promise.allSettled(this.#erasing.values());
  }

  async #erase(name: string): Promise<ErasedTenant> {
    assertArgument(tenantName, name, "The name of a tenant");
    const { control, remove } = this.options;
    const erased = this.#erased;
    if (control === undefined || erased === undefined || remove === undefined) throw unsupported("control and remove");
    const audit = new AuditLog(control, { onError: this.options.onError });
    const call = { principal: "operator", call: "tenants.erase", mode: "admin", tenant: name } as const;
    try {
      return await noted(audit, call, async () => {
        await erased.mark(name, "erasing");
        const first = await revokeKeys(control, name);
        await Promise.all([this.#shut(name), sleep(CLOSED_WITHIN)]);
        // Until all processes knew, its administrators could make some.
        const last = await revokeKeys(control, name);
        const wasStored = await remove(name);
        await erased.mark(name, "erased");
        return { keys: first + last, wasStored };
      });
    } catch (error) {
      // What is not a tenant's stays, however often it is tried.
      if (StemmaError.isInstance(error, "INVALID_ARGUMENT")) await erased.unmark(name);
      throw error;
    } finally {
      await audit.flush();
    }
  }

  /** Closes the stores of tenants that are erased, and goes on with what another process left. */
  #heed(): void {
    for (const name of this.#erased?.states.keys() ?? [])
      this.#shut(name).catch((error) => this.options.onError?.(error));
    if (this.options.remove === undefined || this.#isClosed) return;
    for (const name of this.#erased?.abandoned ?? []) {
      if (!this.#erasing.has(name)) this.erase(name).catch((error) => this.options.onError?.(error));
    }
  }

  /** Closes a store once nobody uses it, or when its requests have had their time. */
  async #shut(name: string): Promise<void> {
    const tenant = this.#tenants.get(name);
    if (tenant === undefined || (await tenant.opened.catch(() => null)) === null) return;
    const end = performance.now() + END_WITHIN;
    while (tenant.holds > 0 && performance.now() < end) await sleep(20);
    await this.#close(name, tenant);
  }

  async #held(name: string): Promise<Held & Open> {
    if (this.#erased !== undefined) await this.#erased.assertKept(name);
    let known = this.#tenants.get(name);
    for (; known?.closed !== undefined; known = this.#tenants.get(name)) await known.closed.catch(() => {});
    const tenant = known ?? this.#begin(name);
    const release = this.#use(name, tenant);
    try {
      return { ...(await tenant.opened), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** The store, where it is open: a call of it is made at once. */
  #heldNow(name: string): Held | null {
    const tenant = this.#tenants.get(name);
    if (this.#erased?.isKept(name) === false) return null;
    if (tenant?.open === undefined || tenant.closed !== undefined) return null;
    return { store: tenant.open.store, release: this.#use(name, tenant) };
  }

  #use(name: string, tenant: Tenant): () => void {
    tenant.holds += 1;
    // It is the newest now.
    if (this.#tenants.delete(name)) this.#tenants.set(name, tenant);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      tenant.holds -= 1;
      if (tenant.holds === 0) this.#letIn();
    };
  }

  #begin(name: string): Tenant {
    const tenant: Tenant = { holds: 0, opened: this.#opened(name) };
    this.#tenants.set(name, tenant);
    const opened = (open: Open) => {
      tenant.open = open;
    };
    tenant.opened.then(opened, () => this.#tenants.delete(name));
    return tenant;
  }

  async #opened(name: string): Promise<Open> {
    await this.#room();
    try {
      if (this.#isClosed) throw new StemmaError("STORE_CLOSED", {}, "The stores of the tenants were closed.");
      const store = await this.open(name);
      assertStore(store, "The store of a tenant");
      try {
        await store.migrate();
        if (this.#erased !== undefined) await this.#erased.assertStillKept(name);
      } catch (error) {
        await store.close();
        // It was made anew.
        if (StemmaError.isInstance(error, "TENANT_ERASED")) await this.options.remove?.(name);
        throw error;
      }
      return { store, face: tenantStore({ now: () => this.#heldNow(name), later: () => this.#held(name) }, store) };
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  #close(name: string, tenant: Tenant): Promise<void> {
    tenant.closed ??= (async () => {
      this.#closing += 1;
      try {
        await tenant.open?.store.close();
      } finally {
        this.#closing -= 1;
        this.#tenants.delete(name);
        this.#leave();
      }
    })();
    return tenant.closed;
  }

  /** Waits until one more store may be open. Errors: `TENANTS_BUSY`. */
  async #room(): Promise<void> {
    let enter = () => {};
    const entered = new Promise<void>((resolve) => {
      enter = resolve;
    });
    this.#waiting.add(enter);
    this.#letIn();
    const busy = () =>
      new StemmaError("TENANTS_BUSY", { max: this.#max }, "The stores of too many tenants are in use: try again.");
    try {
      await raceWithTimer(entered, ROOM_WITHIN, busy);
    } catch (error) {
      // It may have been let in at the last moment.
      if (!this.#waiting.delete(enter)) this.#leave();
      throw error;
    }
  }

  #leave(): void {
    this.#taken -= 1;
    this.#letIn();
  }

  /** Lets in who waits, as far as there is room, and closes for the others what nobody uses. */
  #letIn(): void {
    for (const enter of this.#waiting) {
      if (this.#taken >= this.#max && !this.#isClosed) break;
      this.#waiting.delete(enter);
      this.#taken += 1;
      enter();
    }
    for (const [name, tenant] of this.#tenants) {
      if (this.#closing >= this.#waiting.size) break;
      if (tenant.holds > 0 || tenant.open === undefined || tenant.closed !== undefined) continue;
      // Whoever needs the room is not who has to know what keeps a store from closing.
      this.#close(name, tenant).catch(() => {});
    }
  }
}

function unsupported(needed: string): StemmaError {
  return new StemmaError("STORE_UNSUPPORTED", {}, `This needs ${needed}: give them as options of Tenants.`);
}

async function revokeKeys(control: Store, tenant: string): Promise<number> {
  const keys = new ApiKeys(control);
  const revoked = await Promise.all((await keys.list({ tenant })).map(({ id }) => keys.revoke(id)));
  return revoked.filter(Boolean).length;
}
