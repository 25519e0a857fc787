import { assertArgument, check, invalid, Recent } from "@stemma/model";
import { assertStore, listAll, type RecordScope, type Store } from "@stemma/store";
import { ACCESS, type Access, accessOf, assertGiven, type Principal } from "./principal.js";
import { digestOf, isSameSecret, randomText } from "./secrets.js";

/** How a key is made. */
export interface NewApiKey extends Access {
  /** Its purpose, as a list of keys shows it. */
  readonly name: string;
  /** When it ceases to be one, in milliseconds since 1970. Default: never. */
  readonly expiresAt?: number | undefined;
  /** The id of the principal whose quota it uses up. Default: its own. */
  readonly countedAs?: string;
}

/** A key as a list shows it: without the secret, which is nowhere. */
export interface ApiKeyInfo extends NewApiKey {
  readonly id: string;
  /** ISO time. */
  readonly createdAt: string;
}

interface OfTenant {
  readonly tenant?: string | undefined;
}

/** The keys are records of the store, which no principal reaches through it: `guard` refuses their label. */
const KEYS: RecordScope = { sessionId: "", label: "stemma:keys" };

/** `stm_`, 8 characters that name it, 43 that are the secret, and 6 by which one that is misspelt is known. */
const FORM = /^stm_([\w-]{8})_([\w-]{43})([\w-]{6})$/;
const KNOWN_FOR = 30_000;
const UNKNOWN_FOR = 5_000;
/** Keys whose answer is remembered. */
const REMEMBERED = 10_000;

/** The answer about a key, and the times between which it counts. */
interface Remembered {
  readonly principal: Principal | null;
  readonly since: number;
  readonly until: number;
}

interface StoredKey extends ApiKeyInfo {
  /** SHA-256 of the key. It has 256 random bits, so nothing slower is needed. */
  readonly digest: string;
}

/**
 * The API keys of a store. Only their digests are stored, so a key is shown once. A key that is revoked is refused within 30
 * seconds by every process, at once by this one. Errors: `STORE_UNSUPPORTED`.
 * @example
 * import { ApiKeys } from "stemma/server";
 *
 * const keys = new ApiKeys(store);
 * const { key } = await keys.create({ name: "backend", access: "memory" });
 * const principal = await keys.verify(key);
 */
export class ApiKeys {
  readonly #remembered = new Recent<Remembered>(REMEMBERED);
  #revoked = 0;

  constructor(private readonly store: Store) {
    assertStore(store, "ApiKeys");
  }

  /** Makes a key. Resolves to it, and to what a list shows of it. Errors: `INVALID_ARGUMENT`. */
  async create({ name, expiresAt, countedAs, ...access }: NewApiKey): Promise<{ key: string; info: ApiKeyInfo }> {
    assertArgument(check.text, name, "The name of a key");
    if (expiresAt !== undefined && !(Number.isFinite(expiresAt) && expiresAt > Date.now())) {
      throw invalid("The expiresAt of a key is a time to come, in milliseconds since 1970.", { expiresAt });
    }
    if (countedAs !== undefined) assertArgument(check.text, countedAs, "The countedAs of a key");
    ACCESS.assert(access, "a key");
    assertGiven(access, "a key");
    // On a command line it is no option.
    const id = randomText(6).replace(/[-_]/g, "x");
    const secret = randomText(32);
    const key = `stm_${id}_${secret}${checkOf(id, secret)}`;
    const info: ApiKeyInfo = {
      id,
      name,
      ...accessOf(access),
      ...(countedAs !== undefined && { countedAs }),
      ...(expiresAt !== undefined && { expiresAt }),
      createdAt: new Date().toISOString(),
    };
    const stored: StoredKey = { ...info, digest: digestOf(key) };
    const options = { expectedVersion: 0, ...(expiresAt !== undefined && { expiresAt }) };
    await this.store.records.set(KEYS, id, new TextEncoder().encode(JSON.stringify(stored)), options);
    return { key, info };
  }

  /** The keys that are valid, by id: all, or those of a tenant. */
  async list({ tenant }: OfTenant = {}): Promise<ApiKeyInfo[]> {
    const found: ApiKeyInfo[] = [];
    for await (const { value } of listAll(
      (page) => this.store.records.list(KEYS, page),
      ({ key }) => key,
    )) {
      const { digest: _, ...info } = storedKey(value);
      if (tenant === undefined || info.tenant === tenant) found.push(info);
    }
    return found;
  }

  /** A key that was made, also one that has expired; null for none, and for one that is of another tenant than the given. */
  async get(id: string, { tenant }: OfTenant = {}): Promise<ApiKeyInfo | null> {
    const stored = await this.#stored(id);
    if (stored === null || (tenant !== undefined && stored.tenant !== tenant)) return null;
    const { digest: _, ...info } = stored;
    return info;
  }

  /** Revokes a key: any, or one of a tenant. Resolves to whether it was there. */
  async revoke(id: string, { tenant }: OfTenant = {}): Promise<boolean> {
    try {
      if ((await this.get(id, { tenant })) === null) return false;
      return await this.store.records.delete(KEYS, id);
    } finally {
      // Whoever is reading it meanwhile remembers nothing.
      this.#revoked += 1;
      this.#remembered.clear();
    }
  }

  /** Whom a key stands for; null for what is no key, and for one that was revoked or has expired. */
  async verify(key: string): Promise<Principal | null> {
    const [, id, secret, given] = FORM.exec(key) ?? [];
    if (id === undefined || secret === undefined) return null;
    const digest = digestOf(key);
    const known = this.#remembered.get(digest);
    // A clock that went back makes nothing valid for longer.
    if (known !== undefined && known.since <= Date.now() && Date.now() < known.until) return known.principal;
    if (given !== checkOf(id, secret)) return null;
    const revoked = this.#revoked;
    const stored = await this.#read(id, digest);
    const since = Date.now();
    const principal = stored === null || since >= (stored.expiresAt ?? since + 1) ? null : principalOf(stored);
    const until = Math.min(
      since + (principal === null ? UNKNOWN_FOR : KNOWN_FOR),
      stored?.expiresAt ?? since + KNOWN_FOR,
    );
    if (revoked === this.#revoked) this.#remembered.set(digest, { principal, since, until });
    return principal;
  }

  async #read(id: string, digest: string): Promise<StoredKey | null> {
    const stored = await this.#stored(id);
    return stored !== null && isSameSecret(stored.digest, digest) ? stored : null;
  }

  async #stored(id: string): Promise<StoredKey | null> {
    const record = await this.store.records.get(KEYS, id);
    return record === null ? null : storedKey(record.value);
  }
}

function checkOf(id: string, secret: string): string {
  return digestOf(`${id}.${secret}`).slice(0, 6);
}

function principalOf({ id, countedAs, ...access }: StoredKey): Principal {
  return { id, ...accessOf(access), ...(countedAs !== undefined && { countedAs }) };
}

function storedKey(value: Uint8Array): StoredKey {
  return JSON.parse(new TextDecoder().decode(value)) as StoredKey;
}
