import { StemmaError } from "@stemma/model";
import { listAll, type RecordScope, type Store } from "@stemma/store";

/** The names are records of the server's own store, which no principal reaches: `guard` refuses their label. */
const ERASED: RecordScope = { sessionId: "", label: "stemma:tenants" };

/** Milliseconds for which it counts what was read: within so many, every process knows of a tenant that is erased. */
export const FRESH_FOR = 2_000;
const REFRESH_EVERY = 1_000;
/** No token lasts longer than an hour; a revoked key is remembered for less than the rest. */
const REFUSED_FOR = 3_900_000;
/** Of a process that ended amid it, another one takes over. */
const RESUMED_AFTER = 30_000;

/** How far the erasure of a tenant is, and since when, in milliseconds since 1970. */
interface Erasure {
  readonly state: "erasing" | "erased";
  readonly at: number;
}

/** The tenants that are being erased, and those that were within the last hour: what is left of their tokens reaches nothing. */
export class ErasedTenants {
  #known: ReadonlyMap<string, Erasure> = new Map();
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  readonly #timer: ReturnType<typeof setInterval>;

  /** `onRead` hears each second of what is known. */
  constructor(
    private readonly control: Store,
    onRead: () => void,
  ) {
    // Who comes meanwhile is told why it cannot be read.
    this.#timer = setInterval(() => void this.refresh().then(onRead, () => {}), REFRESH_EVERY);
    // A timer does not keep Node alive.
    (this.#timer as { unref?(): void }).unref?.();
  }

  /** The state of each. */
  get states(): ReadonlyMap<string, Erasure["state"]> {
    return new Map([...this.#known].map(([tenant, { state }]) => [tenant, state]));
  }

  /** Those whose erasure stands still. */
  get abandoned(): string[] {
    const isAbandoned = ({ state, at }: Erasure) => state === "erasing" && Math.abs(Date.now() - at) > RESUMED_AFTER;
    return [...this.#known].flatMap(([tenant, erasure]) => (isAbandoned(erasure) ? [tenant] : []));
  }

  /** True where it is known that the tenant is not erased; false also where it has to be read. */
  isKept(tenant: string): boolean {
    return performance.now() - this.#readAt < FRESH_FOR && !this.#known.has(tenant);
  }

  /** Errors: `TENANT_ERASED`; those of the store. */
  async assertKept(tenant: string): Promise<void> {
    if (performance.now() - this.#readAt >= FRESH_FOR) await this.refresh();
    if (this.#known.has(tenant)) throw isErased(tenant);
  }

  /** For a store that was just opened: this process may have stood still since it was asked. Errors: `TENANT_ERASED`; those of the store. */
  async assertStillKept(tenant: string): Promise<void> {
    if ((await this.control.records.get(ERASED, tenant)) !== null) throw isErased(tenant);
  }

  /** Reads them anew; those who ask while that runs get what it finds. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async mark(tenant: string, state: Erasure["state"]): Promise<void> {
    const erasure: Erasure = { state, at: Date.now() };
    const value = new TextEncoder().encode(JSON.stringify(erasure));
    const options = state === "erased" ? { expiresAt: erasure.at + REFUSED_FOR } : {};
    await this.control.records.set(ERASED, tenant, value, options);
    this.#known = new Map(this.#known).set(tenant, erasure);
  }

  async unmark(tenant: string): Promise<void> {
    await this.control.records.delete(ERASED, tenant);
    await this.refresh();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #read(): Promise<void> {
    const began = performance.now();
    const found = new Map<string, Erasure>();
    const page = (asked: object) => this.control.records.list(ERASED, asked);
    for await (const { key, value } of listAll(page, ({ key }) => key)) {
      found.set(key, JSON.parse(new TextDecoder().decode(value)) as Erasure);
    }
    this.#known = found;
    this.#readAt = began;
  }
}

function isErased(tenant: string): StemmaError {
  return new StemmaError("TENANT_ERASED", { tenant }, `The tenant "${tenant}" is erased, or is about to be.`);
}
