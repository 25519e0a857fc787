import { check, defineOptions, Recent, StemmaError } from "@stemma/model";
import { assertStore, type RecordScope, type Store } from "@stemma/store";
import type { Principal } from "../access/principal.js";
import { digestOf } from "../access/secrets.js";
import { assertQuota, type LimitState, QUOTA_NAMES, QUOTAS, type Quota, type QuotaName } from "./quota.js";

/** The size of a request. */
export interface QuotaCost {
  readonly requests?: number | undefined;
  readonly writes?: number | undefined;
  readonly bytes?: number | undefined;
}

/** How far one limit of a quota is used up. */
export interface QuotaUse {
  readonly quota: QuotaName;
  /** `tenant` where all keys of the tenant use it up together. */
  readonly of?: "tenant";
  readonly limit: number;
  /** A little more than was used, where other processes have taken a part that they did not use yet. */
  readonly used: number;
  /** ISO time at which it begins anew. */
  readonly resetsAt: string;
}

export interface QuotasOptions {
  /** The quota of each principal that has none of its own, and is no administrator of the server: those of a tenant have it. Default: no limit. */
  readonly quota?: Quota | undefined;
  /** The quota of each tenant, which all of its keys and tokens use up together, beside their own. Default: no limit. */
  readonly tenantQuota?: Quota | undefined;
  /** Gets what kept a request from being counted. The request goes on. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const OPTIONS = defineOptions<QuotasOptions>({ quota: assertQuota, tenantQuota: assertQuota, onError: check.callable });
const COST = defineOptions<QuotaCost>({ requests: check.whole(0), writes: check.whole(0), bytes: check.whole(0) });

/** One limit that a principal has. */
interface Limit {
  readonly name: QuotaName;
  readonly of?: "tenant";
  readonly limit: number;
  readonly allowance: Allowance;
}

/** Counts that stay in memory. Of one that is forgotten, what was taken and not used is lost. */
const REMEMBERED = 50_000;

/**
 * Holds principals to their quotas. The counts are in the store, so all processes that serve it share them: together they never let
 * through more than a quota has. A process counts in memory, and takes from the store a tenth of what is left, but no more than it has
 * used so far. Of a process that ends without `flush`, what it had taken counts as used. Errors: `STORE_UNSUPPORTED`, `INVALID_ARGUMENT`.
 * @example
 * import { Quotas } from "stemma/server";
 *
 * const quotas = new Quotas(store, { quota: { writesPerDay: 10_000 } });
 * await quotas.count({ id: "key", access: "memory" }, { requests: 1, writes: 1 });
 */
export class Quotas {
  readonly #allowances = new Recent<Allowance>(REMEMBERED);

  constructor(
    private readonly store: Store,
    private readonly options: QuotasOptions = {},
  ) {
    assertStore(store, "Quotas");
    OPTIONS.assert(options, "Quotas");
  }

  /**
   * Counts a request, or what else is known of it later. Default: one request. Errors: `QUOTA_EXCEEDED`, with `details` as a `QuotaUse`
   * has them, and `retryAfter` in seconds: then nothing counts. `INVALID_ARGUMENT`.
   */
  async count(principal: Principal, cost: QuotaCost = { requests: 1 }): Promise<void> {
    const limits = this.#limitsOf(principal);
    if (limits.length === 0) return;
    COST.assert(cost, "the cost of a request");
    const spent: (() => void)[] = [];
    for (const each of limits) {
      const { name, limit, allowance } = each;
      const amount = cost[QUOTAS[name].of] ?? 0;
      if (await allowance.spend(amount, limit)) spent.push(() => allowance.refund(amount));
      else {
        for (const refund of spent) refund();
        throw exceeded(shownUse(each, allowance.used ?? 0));
      }
    }
  }

  /** How far the quota of a principal is used up: a row for each limit that it has. Errors: those of the store. */
  async usage(principal: Principal): Promise<QuotaUse[]> {
    const rows = this.#limitsOf(principal).map(async (limit) => shownUse(limit, await limit.allowance.read()));
    return Promise.all(rows);
  }

  /** The limits of a principal of which this process knows something, for the headers of an answer. */
  states(principal: Principal): LimitState[] {
    return this.#limitsOf(principal).map(({ name, of, limit, allowance }) => ({
      name: of === undefined ? name : `${of}-${name}`,
      most: limit,
      span: QUOTAS[name].span,
      isOfBytes: QUOTAS[name].of === "bytes",
      left: allowance.used === null ? null : Math.max(0, limit - allowance.used),
      resetsIn: allowance.window.end - Date.now(),
    }));
  }

  /** Gives back what this process took and did not use, before it ends. Does not fail: what the store refuses is told to `onError`. */
  async flush(): Promise<void> {
    await Promise.all(this.#allowances.values().map((allowance) => allowance.release()));
  }

  #limitsOf({ id, access, tenant, countedAs = id, quota }: Principal): Limit[] {
    const isOperator = access === "admin" && tenant === undefined;
    const held = quota ?? (isOperator ? undefined : this.options.quota);
    const own = this.#limits(held, countedAs);
    if (tenant === undefined) return own;
    // No id of a principal has this beginning: a key's has none of its signs.
    const ofTenant = this.#limits(this.options.tenantQuota, `\0tenant ${tenant}`);
    return [...own, ...ofTenant.map((limit) => ({ ...limit, of: "tenant" as const }))];
  }

  #limits(quota: Quota | undefined, countedAs: string): Limit[] {
    return QUOTA_NAMES.flatMap((name) => {
      const limit = quota?.[name];
      return limit === undefined ? [] : [{ name, limit, allowance: this.#allowanceOf(countedAs, name) }];
    });
  }

  #allowanceOf(id: string, name: QuotaName): Allowance {
    const { span } = QUOTAS[name];
    const begin = Math.floor(Date.now() / span) * span;
    const key = `${name} ${id}`;
    const known = this.#allowances.get(key);
    if (known?.window.begin === begin) return known;
    // An id may be longer than a key of the database.
    const stored = `${digestOf(id)} ${name} ${new Date(begin).toISOString()}`;
    const made = new Allowance(this.store, stored, { begin, end: begin + span }, this.options.onError);
    this.#allowances.set(key, made);
    return made;
  }
}

function shownUse({ name: quota, of, limit, allowance: { window } }: Limit, used: number): QuotaUse {
  const resetsAt = new Date(window.end).toISOString();
  return { quota, ...(of !== undefined && { of }), limit, used: Math.min(limit, used), resetsAt };
}

function exceeded(use: QuotaUse): StemmaError {
  const { quota, of = "key", limit, used, resetsAt } = use;
  const retryAfter = Math.max(1, Math.ceil((Date.parse(resetsAt) - Date.now()) / 1_000));
  const message = `This is beyond the quota of the ${of}: ${used} of ${limit} (${quota}) are used. It begins anew at ${resetsAt}.`;
  return new StemmaError("QUOTA_EXCEEDED", { ...use, retryAfter }, message);
}

/** The counts are records of the store, which no principal reaches through it: `guard` refuses their label. */
const COUNTS: RecordScope = { sessionId: "", label: "stemma:quotas" };

const SECOND = 1_000;
const HOUR = 3_600_000;
/** Of what is left, a process takes such a part at once. */
const PART = 10;

/** The time in which a limit holds, in milliseconds since 1970. */
interface Window {
  readonly begin: number;
  readonly end: number;
}

/**
 * The part of a count in the database that this process has taken, and not used yet. Of what is left it takes a tenth, and no more
 * than it has taken so far: so all processes together never use more than there is, and one that is killed loses no more than it
 * had used.
 */
class Allowance {
  #rest = 0;
  #taken = 0;
  /** The count as the database had it last, and when that was; null before it was read. */
  #seen: { readonly used: number; readonly at: number } | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly key: string,
    readonly window: Window,
    private readonly onError: ((error: unknown) => void) | undefined,
  ) {}

  /** The used part of the count, as far as this process knows; null where it knows nothing yet. */
  get used(): number | null {
    return this.#seen === null ? null : Math.max(0, this.#seen.used - this.#rest);
  }

  /** Uses an amount, all or nothing. False where so much is not left. What the database fails with is told, and the amount used. */
  spend(amount: number, limit: number): Promise<boolean> | boolean {
    if (this.#spendRest(amount)) return true;
    if (this.#isKnownSpent(amount, limit)) return false;
    const spent = this.#last.then(() => this.#spendTaken(amount, limit));
    this.#last = spent;
    return spent;
  }

  /** Takes back what was spent. */
  refund(amount: number): void {
    this.#rest += amount;
  }

  /** Reads the count anew. Errors: those of the store. */
  async read(): Promise<number> {
    await this.#read();
    return this.used ?? 0;
  }

  /** Gives what was not used back to the other processes. */
  release(): Promise<unknown> {
    this.#last = this.#last.then(async () => {
      const rest = this.#rest;
      if (rest === 0 || Date.now() >= this.window.end) return;
      this.#rest = 0;
      try {
        await this.#change((used) => Math.max(0, used - rest));
      } catch (error) {
        this.onError?.(error);
      }
    });
    return this.#last;
  }

  #spendRest(amount: number): boolean {
    if (this.#rest < amount) return false;
    this.#rest -= amount;
    return true;
  }

  // A flood of what is refused does not reach the database.
  #isKnownSpent(amount: number, limit: number): boolean {
    if (this.#seen === null || limit - this.#seen.used + this.#rest >= amount) return false;
    const age = Date.now() - this.#seen.at;
    return age >= 0 && age < SECOND;
  }

  async #spendTaken(amount: number, limit: number): Promise<boolean> {
    try {
      // While it is being taken, others may use some of it.
      while (!this.#spendRest(amount)) {
        if (this.#isKnownSpent(amount, limit) || !(await this.#take(amount - this.#rest, limit))) return false;
      }
    } catch (error) {
      // Who cannot be counted is let in: the quota is there for the store's sake.
      this.onError?.(error);
    }
    return true;
  }

  async #take(missing: number, limit: number): Promise<boolean> {
    let portion = 0;
    const isTaken = await this.#change((used) => {
      const left = limit - used;
      portion = Math.max(missing, Math.min(this.#taken, Math.floor(left / PART)));
      return left < missing ? null : used + portion;
    });
    if (!isTaken) return false;
    this.#rest += portion;
    this.#taken += portion;
    return true;
  }

  /** Makes another number of the count; false for null. */
  async #change(next: (used: number) => number | null): Promise<boolean> {
    for (;;) {
      const { used, version } = await this.#read();
      const changed = next(used);
      if (changed === null) return false;
      if (await this.#write(changed, version)) return true;
    }
  }

  async #read(): Promise<{ used: number; version: number }> {
    const record = await this.store.records.get(COUNTS, this.key);
    const used = record === null ? 0 : Number(new TextDecoder().decode(record.value)) || 0;
    this.#seen = { used, at: Date.now() };
    return { used, version: record?.version ?? 0 };
  }

  // False where another process was faster.
  async #write(used: number, expectedVersion: number): Promise<boolean> {
    const { begin, end } = this.window;
    // Clocks differ, and one that goes back finds the count as it was.
    const expiresAt = end + Math.max(end - begin, HOUR);
    try {
      const value = new TextEncoder().encode(String(used));
      await this.store.records.set(COUNTS, this.key, value, { expectedVersion, expiresAt });
    } catch (error) {
      if (StemmaError.isInstance(error, "RECORD_CONFLICT")) return false;
      throw error;
    }
    this.#seen = { used, at: Date.now() };
    return true;
  }
}
