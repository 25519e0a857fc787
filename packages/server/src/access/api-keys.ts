import { assertArgument, check, invalid, Recent } from "@stemma/model";
import { assertStore, listAll, type RecordScope, type Store } from "@stemma/store";
import { ACCESS, type Access, accessOf } from "./access-options.js";
import type { Principal } from "./principal.js";
import { digestOf, isSameSecret, randomText } from "./secrets.js";

/** How a key is made. */
export interface NewApiKey extends Access {
  /** Its purpose, as a list of keys shows it. */
  readonly name: string;
  /** When it ceases to be one, in milliseconds since 1970. Default: never. */
  readonly expiresAt?: number | undefined;
}

/** A key as a list shows it: without the secret, which is nowhere. */
export interface ApiKeyInfo extends NewApiKey {
  readonly id: string;
  /** ISO time. */
  readonly createdAt: string;
}

/** The keys are records of the store, which no principal reaches through it: `guard` refuses their label. */
const KEYS: RecordScope = { sessionId: "", label: "stemma:keys" };

/** `stm_`, 8 characters that name it, 43 that are the secret, and 6 by which one that is misspelt is known. */
const FORM = /^stm_([\w-]{8})_([\w-]{43})([\w-]{6})$/;
const KNOWN_FOR = 30_000;
const UNKNOWN_FOR = 5_000;
/** Keys whose answer is remembered. */
const REMEMBERED = 10_000;

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
  readonly #remembered = new Recent<{ readonly principal: Principal | null; readonly until: number }>(REMEMBERED);

  constructor(private readonly store: Store) {
    assertStore(store, "ApiKeys");
  }

  /** Makes a key. Resolves to it, and to what a list shows of it. Errors: `INVALID_ARGUMENT`. */
  async create({ name, expiresAt, ...access }: NewApiKey): Promise<{ key: string; info: ApiKeyInfo }> {
    assertArgument(check.text, name, "The name of a key");
    if (expiresAt !== undefined && !Number.isFinite(expiresAt)) {
      throw invalid("The expiresAt of a key is a time in milliseconds.");
    }
    ACCESS.assert(access, "a key");
    // On a command line it is no option.
    const id = randomText(6).replace(/[-_]/g, "x");
    const secret = randomText(32);
    const key = `stm_${id}_${secret}${await checkOf(id, secret)}`;
    const info: ApiKeyInfo = {
      id,
      name,
      ...accessOf(access),
      ...(expiresAt !== undefined && { expiresAt }),
      createdAt: new Date().toISOString(),
    };
    const stored: StoredKey = { ...info, digest: await digestOf(key) };
    const options = { expectedVersion: 0, ...(expiresAt !== undefined && { expiresAt }) };
    await this.store.records.set(KEYS, id, new TextEncoder().encode(JSON.stringify(stored)), options);
    return { key, info };
  }

  /** The keys that are valid, by id. */
  async list(): Promise<ApiKeyInfo[]> {
    const found: ApiKeyInfo[] = [];
    for await (const { key, value } of listAll(
      (page) => this.store.records.list(KEYS, page),
      ({ key }) => key,
    )) {
      const { digest: _, ...info } = storedKey(value);
      found.push({ ...info, id: key });
    }
    return found;
  }

  /** Revokes a key. Resolves to whether it was there. */
  async revoke(id: string): Promise<boolean> {
    this.#remembered.clear();
    return this.store.records.delete(KEYS, id);
  }

  /** Whom a key stands for; null for what is no key, and for one that was revoked or has expired. */
  async verify(key: string): Promise<Principal | null> {
    const [, id, secret, given] = FORM.exec(key) ?? [];
    if (id === undefined || secret === undefined || given !== (await checkOf(id, secret))) return null;
    const digest = await digestOf(key);
    const known = this.#remembered.get(digest);
    if (known !== undefined && Date.now() < known.until) return known.principal;
    const principal = await this.#read(id, digest);
    const lasts = principal === null ? UNKNOWN_FOR : KNOWN_FOR;
    this.#remembered.set(digest, { principal, until: Date.now() + lasts });
    return principal;
  }

  async #read(id: string, digest: string): Promise<Principal | null> {
    const record = await this.store.records.get(KEYS, id);
    if (record === null) return null;
    const stored = storedKey(record.value);
    if (!isSameSecret(stored.digest, digest)) return null;
    return { id, ...accessOf(stored) };
  }
}

async function checkOf(id: string, secret: string): Promise<string> {
  return (await digestOf(`${id}.${secret}`)).slice(0, 6);
}

function storedKey(value: Uint8Array): StoredKey {
  return JSON.parse(new TextDecoder().decode(value)) as StoredKey;
}
