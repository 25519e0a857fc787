import { assertStorableText, check, defineOptions, StemmaError } from "@stemma/model";
import type { SessionState, SessionStorage } from "../types.js";
import type { VersionedStorage } from "./storage-versions.js";
import { conflict, newVersion, parseState, Versions, writeState } from "./storage-versions.js";

/** The part of `redis` (node-redis 4 and later) that is used. */
interface NodeRedisClient {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  del(key: string): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  scanIterator(options: { MATCH: string; COUNT: number }): AsyncIterable<unknown>;
  quit(): Promise<unknown>;
}

/** The part of `ioredis` that is used. */
interface IoRedisClient {
  del(key: string): Promise<unknown>;
  eval(script: string, keys: number, ...args: string[]): Promise<unknown>;
  scan(cursor: string, match: "MATCH", pattern: string, count: "COUNT", size: number): Promise<[string, string[]]>;
  quit(): Promise<unknown>;
}

/** A client of either kind; which one it is shows in its methods. */
export type RedisClient = NodeRedisClient | IoRedisClient;

/** The commands that a storage needs, whoever gives them. */
interface RedisCommands {
  del(key: string): Promise<void>;
  eval(script: string, key: string, args: readonly string[]): Promise<unknown>;
  scan(pattern: string): AsyncIterable<string>;
  close(): Promise<void>;
}

const BATCH = 200;

/** Errors: `STORE_UNSUPPORTED`. */
function redisCommands(client: RedisClient): RedisCommands {
  if (isNodeRedis(client)) return nodeRedisCommands(client);
  if (isIoRedis(client)) return ioRedisCommands(client);
  const message = "RedisSessionStorage takes a URL or a client of `redis` (createClient()) or `ioredis` (new Redis()).";
  throw new StemmaError("STORE_UNSUPPORTED", {}, message);
}

function nodeRedisCommands(client: NodeRedisClient): RedisCommands {
  let connecting: Promise<unknown> | undefined;
  const ready = async () => {
    if (!client.isOpen) connecting ??= client.connect();
    await connecting;
  };
  return {
    async del(key) {
      await ready();
      await client.del(key);
    },
    async eval(script, key, args) {
      await ready();
      return client.eval(script, { keys: [key], arguments: [...args] });
    },
    async *scan(pattern) {
      await ready();
      // Version 4 gives keys one by one, later ones in batches.
      for await (const found of client.scanIterator({ MATCH: pattern, COUNT: BATCH })) {
        yield* (Array.isArray(found) ? found : [found]) as string[];
      }
    },
    async close() {
      if (client.isOpen) await client.quit();
    },
  };
}

function ioRedisCommands(client: IoRedisClient): RedisCommands {
  return {
    async del(key) {
      await client.del(key);
    },
    eval: (script, key, args) => client.eval(script, 1, key, ...args),
    async *scan(pattern) {
      let cursor = "0";
      do {
        const [next, keys] = await client.scan(cursor, "MATCH", pattern, "COUNT", BATCH);
        yield* keys;
        cursor = next;
      } while (cursor !== "0");
    },
    async close() {
      await client.quit();
    },
  };
}

function isNodeRedis(client: RedisClient): client is NodeRedisClient {
  return typeof (client as Partial<NodeRedisClient> | undefined)?.scanIterator === "function";
}

function isIoRedis(client: RedisClient): client is IoRedisClient {
  const { scan, eval: run } = (client ?? {}) as Partial<IoRedisClient>;
  return typeof scan === "function" && typeof run === "function";
}

export interface RedisStorageOptions {
  /** The prefix of the keys. Default `session:`. */
  prefix?: string | undefined;
  /** A session that was not written for this many seconds is gone. Default: sessions stay. */
  ttlSeconds?: number | undefined;
}

export const REDIS = defineOptions<RedisStorageOptions>({ prefix: check.text, ttlSeconds: check.whole(1) });

// The version of a value: its number, or its hash where another program wrote it. None of a missing one.
const VERSION_OF = `
local function versionOf(value)
  return value and (string.match(value, '^{"version":(%d+)') or redis.sha1hex(value)) or ''
end`;

// Writes over the expected version, or over any for '*'. With a TTL, what is gone may be written again.
const SAVE = `${VERSION_OF}
local version = versionOf(redis.call('GET', KEYS[1]))
local expired = version == '' and ARGV[3] ~= '0'
if ARGV[1] ~= '*' and ARGV[1] ~= version and not expired then return 0 end
if ARGV[3] == '0' then redis.call('SET', KEYS[1], ARGV[2]) else redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end
return 1`;

const LOAD = `${VERSION_OF}
local value = redis.call('GET', KEYS[1])
return {value, versionOf(value)}`;

const VERSION = `${VERSION_OF}
return versionOf(redis.call('GET', KEYS[1]))`;

/**
 * Keeps each session as JSON under a key in Redis, with your client of `redis` or `ioredis`, or a URL (then `redis` must be
 * installed). If another program wrote a session after it was loaded or saved here, `save` fails with `SESSION_CONFLICT`; a
 * `load` that found nothing counts as well. Any other session is overwritten. The server's settings (`appendonly yes`) decide how durable a save is. Each save writes
 * the whole session.
 */
export class RedisSessionStorage implements SessionStorage, VersionedStorage {
  readonly #prefix: string;
  readonly #ttl: string;
  readonly #versions = new Versions();
  /** The client was made here. */
  readonly #owned: boolean;
  readonly #connect: () => Promise<RedisCommands>;
  #commands: Promise<RedisCommands> | null = null;

  /** Connects with the first call. Errors: `INVALID_ARGUMENT`, `STORE_UNSUPPORTED` for another client. A URL without `redis` installed fails with `DRIVER_MISSING` at that first call. */
  constructor(client: RedisClient | string, options: RedisStorageOptions = {}) {
    REDIS.assert(options, "RedisSessionStorage");
    const { prefix = "session:", ttlSeconds } = options;
    this.#prefix = prefix;
    this.#ttl = String(ttlSeconds ?? 0);
    this.#owned = typeof client === "string";
    if (typeof client === "string") this.#connect = () => connect(client);
    else {
      const commands = redisCommands(client);
      this.#connect = async () => commands;
    }
  }

  /** Writes the state, all or nothing. Errors: `SESSION_CONFLICT`, `INVALID_TEXT`, and what the client throws. */
  save(state: SessionState): Promise<void> {
    return this.#versions.exclusive(state.id, async () => {
      if (!isKey(state.id)) assertStorableText(state.id, "A session's id");
      const expected = this.#versions.expected(state);
      const redis = await this.#redis();
      const version = newVersion();
      const args = [expected === undefined ? "*" : (expected ?? ""), writeState(state, version), this.#ttl];
      if (Number(await redis.eval(SAVE, this.#prefix + state.id, args)) !== 1) throw conflict(state.id);
      this.#versions.note(state, String(version));
    });
  }

  /** The stored state; undefined when there is none. Errors: `CORRUPT_STATE`, and what the client throws. */
  async load(sessionId: string): Promise<SessionState | undefined> {
    if (!isKey(sessionId)) return undefined;
    return this.#versions.exclusive(sessionId, async () => {
      const redis = await this.#redis();
      const [text, version] = (await redis.eval(LOAD, this.#prefix + sessionId, [])) as [string | null, string];
      if (version === "") {
        this.#versions.noteNone(sessionId);
        return undefined;
      }
      const state = parseState(text ?? "", sessionId);
      this.#versions.note(state, version);
      return state;
    });
  }

  /** Deletes a session; an unknown id does nothing. Errors: what the client throws. */
  async delete(sessionId: string): Promise<void> {
    if (!isKey(sessionId)) return;
    return this.#versions.exclusive(sessionId, async () => {
      const redis = await this.#redis();
      await redis.del(this.#prefix + sessionId);
      this.#versions.noteNone(sessionId);
    });
  }

  /** The version of the stored state: different for every save; null when there is no state. Errors: what the client throws. */
  async version(sessionId: string): Promise<string | null> {
    if (!isKey(sessionId)) return null;
    const redis = await this.#redis();
    const version = String(await redis.eval(VERSION, this.#prefix + sessionId, []));
    if (version === "") this.#versions.noteAbsent(sessionId);
    return version === "" ? null : version;
  }

  /** The version that this object was loaded from or saved as here; null when it was neither. */
  versionOf(state: SessionState): string | null {
    return this.#versions.of(state);
  }

  /** The ids of the stored sessions. Errors: what the client throws. */
  async list(): Promise<string[]> {
    const redis = await this.#redis();
    const pattern = `${this.#prefix.replace(/[\\*?[\]]/g, "\\$&")}*`;
    // A scan may give a key twice.
    const ids = new Set<string>();
    for await (const key of redis.scan(pattern)) ids.add(key.slice(this.#prefix.length));
    return [...ids];
  }

  /** Ends the connection that a URL opened; a client that was given stays open. Errors: those of the client. */
  async close(): Promise<void> {
    if (this.#owned) await (await this.#commands)?.close();
  }

  #redis(): Promise<RedisCommands> {
    this.#commands ??= this.#connect().catch((error: unknown) => {
      this.#commands = null;
      throw error;
    });
    return this.#commands;
  }
}

/** False for half of a surrogate pair: of that UTF-8 makes U+FFFD, the key of another session. */
const isKey = (sessionId: string) => sessionId.isWellFormed();

async function connect(url: string): Promise<RedisCommands> {
  let createClient: (options: { url: string }) => RedisClient;
  try {
    // @ts-expect-error: its types are there only where compat/ is installed.
    ({ createClient } = await import(/* webpackIgnore: true */ "redis"));
  } catch (cause) {
    const message = "To open a Redis URL, run: npm install redis (or pass a client of redis or ioredis).";
    throw new StemmaError("DRIVER_MISSING", { driver: "redis" }, message, { cause });
  }
  return redisCommands(createClient({ url }));
}
