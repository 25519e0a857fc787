import { StemmaError } from "../../errors.js";
import type { SessionState, SessionStorage } from "../types.js";
import { type RedisClient, type RedisCommands, redisCommands } from "./redis-client.js";
import { conflict, parseState, writeState } from "./state-json.js";
import { Versions } from "./versions.js";

export interface RedisStorageOptions {
  /** What the keys start with. Default `session:`. */
  prefix?: string | undefined;
  /** A session that was not written for this many seconds is gone. Default: sessions stay. */
  ttlSeconds?: number | undefined;
}

// Writes only over the version that was read. A value without a version, or none at all, counts as version 0.
const SAVE = `
local stored = redis.call('GET', KEYS[1])
local version = stored and (string.match(stored, '^{"version":(%d+)') or '0')
local gone = not version and (ARGV[1] == '0' or ARGV[3] ~= '0')
if not gone and version ~= ARGV[1] then return 0 end
if ARGV[3] == '0' then redis.call('SET', KEYS[1], ARGV[2]) else redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end
return 1`;

const VERSION = `return tonumber(string.match(redis.call('GETRANGE', KEYS[1], 0, 40), '^{"version":(%d+)') or '0')`;

/**
 * Sessions as JSON in Redis, one key each, through your client of `redis` or `ioredis` (or a URL: then `redis` must
 * be installed). A session that someone else wrote since it was read here is not overwritten: `SESSION_CONFLICT`. How
 * durable a save is, is the server's to say (`appendonly yes`). Each save writes the whole session.
 */
export class RedisSessionStorage implements SessionStorage {
  readonly #prefix: string;
  readonly #ttl: string;
  readonly #versions = new Versions();
  /** The client was made here. */
  readonly #owned: boolean;
  readonly #connect: () => Promise<RedisCommands>;
  #commands: Promise<RedisCommands> | null = null;

  constructor(client: RedisClient | string, options: RedisStorageOptions = {}) {
    const { prefix = "session:", ttlSeconds } = options;
    if (ttlSeconds !== undefined && !(Number.isInteger(ttlSeconds) && ttlSeconds > 0)) {
      throw new StemmaError("INVALID_ARGUMENT", { ttlSeconds }, "ttlSeconds is a whole number above 0.");
    }
    this.#prefix = prefix;
    this.#ttl = String(ttlSeconds ?? 0);
    this.#owned = typeof client === "string";
    if (typeof client === "string") this.#connect = () => connect(client);
    else {
      const commands = redisCommands(client);
      this.#connect = async () => commands;
    }
  }

  /** Errors: `SESSION_CONFLICT`, and what the client throws. */
  save(state: SessionState): Promise<void> {
    return this.#versions.exclusive(state.id, async () => {
      const expected = this.#versions.expected(state);
      const redis = await this.#redis();
      const text = writeState(state, expected + 1);
      const done = await redis.eval(SAVE, this.#prefix + state.id, [String(expected), text, this.#ttl]);
      if (Number(done) !== 1) throw conflict(state.id);
      this.#versions.note(state, expected + 1);
    });
  }

  /** Errors: `CORRUPT_STATE`, and what the client throws. */
  async load(sessionId: string): Promise<SessionState | undefined> {
    const redis = await this.#redis();
    const text = await redis.get(this.#prefix + sessionId);
    if (text === null) return undefined;
    const { state, version } = parseState(text, sessionId);
    this.#versions.note(state, version);
    return state;
  }

  /** Grows by one with every save; 0 when there is no such session. */
  async version(sessionId: string): Promise<number> {
    const redis = await this.#redis();
    return Number(await redis.eval(VERSION, this.#prefix + sessionId, []));
  }

  async delete(sessionId: string): Promise<void> {
    const redis = await this.#redis();
    await redis.del(this.#prefix + sessionId);
    this.#versions.forget(sessionId);
  }

  async list(): Promise<string[]> {
    const redis = await this.#redis();
    const pattern = `${this.#prefix.replace(/[\\*?[\]]/g, "\\$&")}*`;
    // A scan may give a key twice.
    const ids = new Set<string>();
    for await (const key of redis.scan(pattern)) ids.add(key.slice(this.#prefix.length));
    return [...ids];
  }

  /** Ends the connection that a URL opened; a client that was given stays open. */
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

async function connect(url: string): Promise<RedisCommands> {
  const specifier = "redis";
  let createClient: (options: { url: string }) => RedisClient;
  try {
    ({ createClient } = (await import(/* @vite-ignore */ specifier)) as { createClient: typeof createClient });
  } catch (cause) {
    const message = "To open a Redis URL, run: npm install redis (or pass a client of redis or ioredis).";
    throw new StemmaError("DRIVER_MISSING", { driver: "redis" }, message, { cause });
  }
  return redisCommands(createClient({ url }));
}
