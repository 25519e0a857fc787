import { assertArgument, check, defineOptions, raceWithTimer, StemmaError } from "@stemma/model";
import { assertStore, type Store } from "@stemma/store";
import { isTenantName, TENANT_NAME } from "../access/tenant-name.js";
import { type Held, tenantStore } from "./tenant-store.js";

export interface TenantsOptions {
  /** Stores that are open at once. Default 500. */
  readonly max?: number | undefined;
}

const TENANTS = defineOptions<TenantsOptions>({ max: check.whole(1) });
const MAX = 500;
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

  constructor(
    private readonly open: (tenant: string) => Store | Promise<Store>,
    options: TenantsOptions = {},
  ) {
    assertArgument(check.callable, open, "The first argument of Tenants");
    TENANTS.assert(options, "Tenants");
    this.#max = options.max ?? MAX;
  }

  /**
   * Opens a tenant's store, and keeps it open until `release` is called. The store can be used afterwards, too: a call opens it again.
   * Closing it closes nothing. Errors: `INVALID_ARGUMENT` for what is no name of a tenant; `TENANTS_BUSY` where `max` others are in use
   * for ten seconds; `STORE_CLOSED`; those of `open`, and of `migrate`.
   */
  async hold(tenant: string): Promise<{ readonly store: Store; readonly release: () => void }> {
    assertArgument(tenantName, tenant, "The name of a tenant");
    const { face, release } = await this.#held(tenant);
    return { store: face, release };
  }

  /** Closes all stores, once the calls that were made before are over. Every later call fails with `STORE_CLOSED`. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#letIn();
    const all = [...this.#tenants].map(async ([name, tenant]) => {
      // What cannot be opened is told to whoever asked for it.
      if ((await tenant.opened.catch(() => null)) !== null) await this.#close(name, tenant);
    });
    await Promise.all(all);
  }

  async #held(name: string): Promise<Held & Open> {
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
      } catch (error) {
        await store.close();
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
