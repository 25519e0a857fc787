import type { Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { type Access, ApiKeys, authenticator, createServer, UserTokens } from "../../src/index.js";

export const HOST = "https://memory.example.com";

type Options = Partial<Parameters<typeof createServer>[1]> & {
  /** Keys and tokens have routes, too. */
  readonly withAccess?: boolean;
};
type Sent = Omit<RequestInit, "body"> & { readonly key?: string; readonly json?: unknown; readonly body?: BodyInit };

let open: () => Promise<Store> | Store = memory;

/** From now on, `newStore` opens other stores than ones in memory: the suite runs on them as it is. */
export function openWith(next: typeof open): void {
  open = next;
}

/** A store that is empty. */
export async function newStore(): Promise<Store> {
  return open();
}

type Server = Pick<Awaited<ReturnType<typeof serveStore>>, "server" | "keyOf"> & { readonly store?: Store };
let serve: ((options: Options, errors: unknown[]) => Promise<Server>) | undefined;

/** From now on, requests go to other servers than `createServer`. */
export function serveWith(next: typeof serve): void {
  serve = next;
}

async function serveStore({ withAccess, ...options }: Options, errors: unknown[], store: Store) {
  const keys = new ApiKeys(store);
  const tokens = new UserTokens(store, { audience: HOST });
  const server = createServer(store, {
    authenticate: authenticator({ keys, tokens }),
    onError: (error) => errors.push(error),
    ...(withAccess && { keys, tokens }),
    ...options,
  });
  const keyOf = async (access: Partial<Access> = {}) =>
    (await keys.create({ name: "test", access: "memory", ...access })).key;
  return { store, server, keyOf };
}

/** A server on an empty store, and what sends requests to it: with a key of a backend unless another one is given. */
export async function serveRest(options: Options = {}, given?: Store) {
  const errors: unknown[] = [];
  const made =
    serve === undefined ? await serveStore(options, errors, given ?? (await newStore())) : await serve(options, errors);
  const { server, keyOf } = made;
  const backend = await keyOf();
  const send = (method: string, path: string, { key = backend, json, ...rest }: Sent = {}) => {
    const headers = new Headers(rest.headers);
    if (key !== "") headers.set("authorization", `Bearer ${key}`);
    if (json !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
    const body = json === undefined ? rest.body : JSON.stringify(json);
    const stream = body instanceof ReadableStream ? { duplex: "half" } : {};
    return server(
      new Request(HOST + path, { ...rest, method, headers, ...(body === undefined ? {} : { body }), ...stream }),
    );
  };
  /** Sends, and reads the status and the JSON of the answer. */
  const ask = async (method: string, path: string, sent: Sent = {}) => {
    const response = await send(method, path, sent);
    const text = await response.text();
    const isJson = /^application\/(problem\+)?json/.test(response.headers.get("content-type") ?? "");
    // biome-ignore lint/suspicious/noExplicitAny: whatever the answer holds.
    const body: any = isJson ? JSON.parse(text) : text;
    return { status: response.status, headers: response.headers, body };
  };
  /** Undefined where the server alone reaches it. */
  const store = made.store as Store;
  return { store, keyOf, send, ask, errors };
}

export const said = (id: string, text = id, role = "user") => ({ id, role, parts: [{ type: "text", text }] });

/** An id as a segment of a path. */
export function segmentOf(id: string): string {
  return encodeURIComponent(/^(~.*|\.{0,2})$/s.test(id) ? `~${id}` : id);
}
