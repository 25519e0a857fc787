import { StemmaError } from "@stemma/model";

/** The part of `redis` (node-redis 4 and later) that is used. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  del(key: string): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  scanIterator(options: { MATCH: string; COUNT: number }): AsyncIterable<unknown>;
  quit(): Promise<unknown>;
}

/** The part of `ioredis` that is used. */
export interface IoRedisClient {
  del(key: string): Promise<unknown>;
  eval(script: string, keys: number, ...args: string[]): Promise<unknown>;
  scan(cursor: string, match: "MATCH", pattern: string, count: "COUNT", size: number): Promise<[string, string[]]>;
  quit(): Promise<unknown>;
}

/** A client of either kind; which one it is shows in its methods. */
export type RedisClient = NodeRedisClient | IoRedisClient;

/** The commands that a storage needs, whoever gives them. */
export interface RedisCommands {
  del(key: string): Promise<void>;
  eval(script: string, key: string, args: readonly string[]): Promise<unknown>;
  scan(pattern: string): AsyncIterable<string>;
  close(): Promise<void>;
}

const BATCH = 200;

/** Errors: `STORE_UNSUPPORTED`. */
export function redisCommands(client: RedisClient): RedisCommands {
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
