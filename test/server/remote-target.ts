import { remote } from "../../packages/client/src/remote/remote.js";
import { createServer, type ServerOptions } from "../../packages/server/src/index.js";
import type { StoreTarget } from "../../packages/stemma/src/testing.js";
import { consolidate, type OnceOperation, type Store } from "../../packages/store/src/index.js";
import type { Random } from "../../reliability/tools/random.js";

/** Sends a request, as `fetch` does. */
export type Fetch = (request: Request) => Promise<Response>;

/** Makes the way to a server. The store of one that is faulty fails now and then. */
export type Networks = (serve: Fetch, isFaulty: boolean) => Fetch;

/**
 * A target whose stores are behind a server, each reached by `stemma/remote`. `networkOf` makes the way to a server. Where `replicaOf`
 * gives another store on the same database, two servers take the requests in turn; but for a store with settings of its own.
 */
export function remoteTarget(
  target: StoreTarget,
  networkOf: Networks = (serve) => serve,
  replicaOf?: (store: Store) => Store,
): StoreTarget {
  const inner = new WeakMap<Store, Store>();
  const behind = (store: Store): Store => inner.get(store) as Store;
  const through = async (
    opening: Store | PromiseLike<Store>,
    { isAlone = false, isFaulty = false } = {},
  ): Promise<Store> => {
    const opened = await opening;
    const stores = [opened, ...(replicaOf === undefined || isAlone || isFaulty ? [] : [replicaOf(opened)])];
    const servers = stores.map((each) => serverFor(each));
    let requests = 0;
    const serve: Fetch = (request) => (servers[requests++ % servers.length] as Fetch)(request);
    const { capabilities } = opened;
    const fetch = networkOf(serve, isFaulty);
    const store = remote({ baseUrl: "http://memory.test", fetch, capabilities, maxRetries: 20 });
    const { close } = store;
    inner.set(store, opened);
    return Object.assign(consolidatingHere(store), {
      close: async () => {
        await close();
        for (const each of stores.reverse()) await each.close();
      },
    });
  };
  const { reopen, corrupt, damage, openWithFaults, openWithTools, dump, capabilities } = target;
  return {
    name: `remote ${target.name}`,
    open: () => through(target.open()),
    capabilities: { ...capabilities, embeddings: false },
    ...(reopen && { reopen: (store) => through(reopen(behind(store))) }),
    ...(corrupt && { corrupt: (store, sessionId, id) => corrupt(behind(store), sessionId, id) }),
    ...(damage && { damage: (store, sql) => damage(behind(store), sql) }),
    ...(openWithFaults && { openWithFaults: (before) => through(openWithFaults(before), { isFaulty: true }) }),
    ...(openWithTools && { openWithTools: () => through(openWithTools(), { isAlone: true }) }),
    ...(dump && { dump: (store) => dump(behind(store)) }),
  };
}

/** The same store. The suite has functions that extract, which stay in its process. */
export function consolidatingHere(store: Store): Store {
  const { forUser, once } = store;
  return Object.assign(store, {
    consolidate,
    forUser: (userId: string) => consolidatingHere(forUser(userId)),
    ...(once !== undefined && { once: (operation: OnceOperation) => consolidatingHere(once(operation)) }),
  });
}

/** A server whose every request is an administrator's. */
export function serverFor(store: Store, options: Pick<ServerOptions, "sessions"> = {}): Fetch {
  return createServer(store, {
    authenticate: () => ({ id: "root", access: "admin" }),
    maxBodyBytes: 64_000_000,
    ...options,
  });
}

/** An answer whose body was read: one without a body may not have an empty one. */
export function answerOf(body: ArrayBuffer, response: Response): Response {
  return new Response(body.byteLength === 0 ? null : body, response);
}

/** Losses of a network, as shares of all requests. */
interface Losses {
  readonly lost: number;
  readonly doubled: number;
  readonly cut: number;
  /** Milliseconds that a request takes at most. */
  readonly jitter: number;
}

/** What became of requests. */
type Lost = Record<"requests" | "lost" | "answersLost" | "doubled" | "cut", number>;

/** A network that loses requests and answers, sends some twice, and cuts answers off. */
export function lossyNetwork(
  serve: Fetch,
  { lost, doubled, cut, jitter }: Losses,
  random: Random,
  counts: Lost,
): Fetch {
  const pause = () => new Promise((wake) => setTimeout(wake, random.next() * jitter));
  return async (request) => {
    await pause();
    const chance = random.next();
    counts.requests += 1;
    if (chance < lost / 2) {
      counts.lost += 1;
      throw new TypeError("The network lost the request.");
    }
    if (chance > 1 - doubled) {
      counts.doubled += 1;
      const twin = serve(request.clone()).then((response) => response.arrayBuffer());
      twin.catch(() => {});
    }
    const response = await serve(request);
    await pause();
    if (chance < lost) {
      counts.answersLost += 1;
      await response.arrayBuffer();
      throw new TypeError("The network lost the answer.");
    }
    if (chance >= lost + cut) return response;
    counts.cut += 1;
    return cutOff(response, random);
  };
}

async function cutOff(response: Response, random: Random): Promise<Response> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const left = bytes.subarray(0, random.below(bytes.length));
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(left);
      setTimeout(() => controller.error(new TypeError("terminated")), 0);
    },
  });
  return new Response(body, response);
}
