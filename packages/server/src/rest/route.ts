import { createRoute, z } from "@hono/zod-openapi";
import { invalid, quote, StemmaError, shorten } from "@stemma/model";
import type { SessionManager } from "@stemma/session";
import type { Store } from "@stemma/store";
import type { Principal } from "../access/principal.js";
import { forbidden, notThere } from "../access/refusals.js";
import { HttpRefusal } from "../http/problem.js";
import type { ServerApp } from "../http/server-app.js";
import { bytesOf, readBody } from "./body.js";
import { assertEncoded, fingerprintOfRequest, keyOf, type PathIds, readIds, withoutConditions } from "./requests.js";
import { PROBLEM } from "./schemas.js";

type Query = Readonly<Record<string, z.ZodType>>;
type Output<Q extends Query> = { readonly [Name in keyof Q]: z.output<Q[Name]> };

/** The content of an answer: JSON of this schema, a schema for each media type, or nothing. */
type Content = z.ZodType | Readonly<Record<string, z.ZodType>> | null;

interface Definition<Q extends Query, Body extends z.ZodType> {
  /** Whether it writes: a key that only reads is refused then. */
  readonly access: "read" | "write";
  /** False where it does nothing twice by itself, and takes no `Idempotency-Key`. Default: true. */
  readonly isDoneOnce?: boolean;
  readonly summary: string;
  readonly description?: string;
  readonly query?: Q;
  /** A JSON object. */
  readonly body?: Body;
  /** The largest body in bytes. Default: that of the server. */
  readonly maxBytes?: number;
  /** The writes that a request counts as. Default: one. */
  readonly writesOf?: (body: z.output<Body>) => number;
  /** Media types of a body that the route reads itself. */
  readonly streams?: readonly string[];
  /** By status. */
  readonly answers: Readonly<Record<number, Content>>;
}

/** A request, once it is read. */
export interface Call<Path extends string = string, Q = unknown, Body = unknown> {
  readonly path: Path;
  readonly ids: PathIds<Path>;
  readonly query: Q;
  readonly body: Body;
  readonly request: Request;
  readonly requestId: string;
  readonly principal: Principal;
  /** As a handler's. */
  readonly isLetIn: () => Promise<boolean>;
  /** Behind the guard, as the manager's. */
  readonly store: Store;
  readonly sessions: SessionManager;
  /** Tells whether its write was done before, under the same key: then it asks no more whether it may. Undefined without a key. */
  readonly isAgain: (() => Promise<boolean>) | undefined;
}

/** Codes that would tell a session which is there from one that is not. */
const OF_A_SESSION: ReadonlySet<string> = new Set([
  "MESSAGE_NOT_FOUND",
  "PARENT_NOT_FOUND",
  "COMPACTION_NOT_FOUND",
  "BLOCK_NOT_FOUND",
  "ENTRY_NOT_FOUND",
  "VERSION_NOT_FOUND",
  "SESSION_NOT_FOUND",
  "SESSION_CONFLICT",
]);

/** Adds routes to an app: each is checked by the schemas that its document shows. */
export class Routes {
  readonly #methods = new Map<string, string[]>();
  /** A description of each route, made when somebody asks for it: an app is made each time that an object wakes. */
  readonly #documents: (() => ReturnType<typeof createRoute>)[] = [];

  constructor(
    private readonly app: ServerApp,
    private readonly maxBodyBytes: number,
  ) {}

  add<const Path extends string, Q extends Query = Record<never, never>, Body extends z.ZodType = z.ZodUndefined>(
    method: "get" | "post" | "put" | "patch" | "delete",
    path: Path,
    definition: Definition<Q, Body>,
    answer: (call: Call<Path, Output<Q>, z.output<Body>>) => Promise<Response>,
  ): void {
    const { query = {} as Q, body } = definition;
    const maxBytes = Math.min(this.maxBodyBytes, definition.maxBytes ?? this.maxBodyBytes);
    let asked: z.ZodObject<Q> | undefined;
    this.#documents.push(() => createRoute(documentOf(method, path, definition)));
    const pattern = path.replaceAll(/\{(\w+)\}/g, ":$1");
    this.#methods.set(pattern, [...(this.#methods.get(pattern) ?? []), method.toUpperCase()]);
    this.app.on(method.toUpperCase(), pattern, async (c) => {
      // To ask for `c.var` makes an object each time.
      const known = c.var;
      const { principal, requestId, isLetIn } = known;
      const request = c.req.raw;
      // The guard refuses it, too; some routes would say something else before.
      if (definition.access === "write" && principal.readOnly === true) throw forbidden("This key only reads.");
      assertEncoded(request);
      asked ??= z.strictObject(query);
      const given = parsed(asked, queryOf(request), "query");
      const json = body === undefined ? undefined : parsed(body, await readBody(request, maxBytes), "body");
      const key = definition.access === "write" && definition.isDoneOnce !== false ? keyOf(request) : null;
      const { store, sessions, isAgain } =
        key === null ? { ...known, isAgain: undefined } : known.once(key, fingerprintOfRequest(request, json));
      if (definition.access === "write") {
        const writes = definition.writesOf?.(json as z.output<Body>) ?? 1;
        await known.spend({ writes, bytes: bytesOf(request, maxBytes) }, isAgain);
      }
      const call = {
        path,
        ids: readIds(path, c.req.param() as Readonly<Record<string, string>>),
        query: given as Output<Q>,
        body: json as z.output<Body>,
        request: await withoutConditions(request, isAgain),
        requestId,
        principal,
        isLetIn,
        store,
        sessions,
        isAgain,
      };
      try {
        return await answer(call);
      } catch (error) {
        throw await asSeen(call, definition.access, error);
      }
    });
  }

  /** Describes the routes that were added, in the app's registry. */
  describe(): void {
    for (const make of this.#documents) this.app.openAPIRegistry.registerPath(make());
  }

  /** Refuses the other methods of all paths that were added. */
  close(): void {
    for (const [pattern, methods] of this.#methods) {
      this.app.all(pattern, () => {
        throw new HttpRefusal("METHOD_NOT_ALLOWED", `Send ${methods.join(", ")} to this address.`, {
          allow: methods.join(", "),
        });
      });
    }
  }
}

/** An answer in JSON. */
export function json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return jsonText(JSON.stringify(value), status, headers);
}

export function jsonText(text: string, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(text, {
    status,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store", ...headers },
  });
}

/** An answer without a body. */
export function noContent(status: 204 | 304 = 204, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status, headers: { "cache-control": "no-store", ...headers } });
}

/** Throws `SESSION_NOT_FOUND` for a session that nobody has written: whoever may not know of it gets the same. */
export async function assertThere(store: Store, sessionId: string): Promise<void> {
  if ((await store.sessions.get(sessionId)) === null) throw notThere(sessionId);
}

const NOBODYS =
  "A block of this server belongs to the session's user, and the session has none: send a user's key or token, or make sessions with a userId.";

/**
 * The error as whoever asks may see it: one message of another's session, and one of a session that is not there, are refused alike. A
 * write may make its session, and is told what else is wrong with it.
 */
export async function asSeen(
  { ids, store }: { readonly ids: Readonly<Record<string, string>>; readonly store: Store },
  access: "read" | "write",
  error: unknown,
): Promise<unknown> {
  const { session, owner } = ids as Partial<Record<string, string>>;
  const id = session ?? (owner?.startsWith("session:") ? owner.slice("session:".length) : undefined);
  if (session !== undefined && StemmaError.isInstance(error, "USER_REQUIRED") && error.details.sessionId === session) {
    return new StemmaError("USER_REQUIRED", error.details, NOBODYS);
  }
  if (id === undefined || !StemmaError.isInstance(error) || !(access === "read" || OF_A_SESSION.has(error.code)))
    return error;
  return (await store.sessions.get(id)) === null ? notThere(id) : error;
}

function queryOf(request: Request): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of new URL(request.url).searchParams) {
    if (Object.hasOwn(given, name)) throw invalid(`The field ${quote(shorten(name))} stands twice in the query.`);
    given[name] = value;
  }
  return given;
}

function parsed<Schema extends z.ZodType>(schema: Schema, given: unknown, where: string): z.output<Schema> {
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  const [issue] = error.issues;
  if (issue?.code === "unrecognized_keys") {
    const names = issue.keys.map((name) => quote(shorten(name))).join(", ");
    throw invalid(`The ${where} of this request has no field ${names}.`);
  }
  const field = issue?.path.map(String).join(".") ?? "";
  const what = field === "" ? `The ${where}` : `The field ${quote(shorten(field))} of the ${where}`;
  const why = (issue?.message ?? "").replace(/^Invalid input: /, "");
  throw invalid(`${what} is not as it must be: ${shorten(why)}.`, { field: shorten(field) });
}

const WORDS: Readonly<Record<number, string>> = {
  200: "Done.",
  201: "Made.",
  204: "Done; there is nothing to tell.",
  304: "It is as `If-None-Match` says.",
};

function documentOf(
  method: "get" | "post" | "put" | "patch" | "delete",
  path: string,
  { access, summary, description, query = {}, body, streams, answers }: Definition<Query, z.ZodType>,
) {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const content = (types: readonly string[]) =>
    Object.fromEntries(types.map((type) => [type, { schema: z.string() }] as const));
  const contentOf = (answer: NonNullable<Content>) => {
    if (answer instanceof z.ZodType) return { "application/json": { schema: answer } };
    return Object.fromEntries(Object.entries(answer).map(([type, schema]) => [type, { schema }] as const));
  };
  return {
    method,
    path,
    summary,
    ...(description === undefined ? {} : { description }),
    operationId: `${method}${path.replace(/^\/v1/, "").replace(/[/{}-]+(\w?)/g, (_, next: string) => next.toUpperCase())}`,
    security: [{ bearer: [] }],
    "x-access": access,
    request: {
      ...(names.length === 0 ? {} : { params: z.object(pathParameters(names)) }),
      query: z.strictObject(query),
      ...(body === undefined ? {} : { body: { required: true, content: { "application/json": { schema: body } } } }),
      ...(streams === undefined ? {} : { body: { required: true, content: content(streams) } }),
    },
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [
          status,
          {
            description: WORDS[Number(status)] ?? "",
            ...(answer === null ? {} : { content: contentOf(answer) }),
          },
        ]),
      ),
      default: { description: "Refused.", content: { "application/problem+json": { schema: PROBLEM } } },
    },
  };
}

function pathParameters(names: readonly string[]): Record<string, z.ZodType> {
  return Object.fromEntries(names.map((name) => [name, z.string().openapi({ description: MEANINGS[name] ?? name })]));
}

const ID = "percent-encoded; one that is empty, `.`, `..` or begins with `~` has a `~` before it";
const MEANINGS: Readonly<Record<string, string>> = {
  session: `The session's id, ${ID}.`,
  message: `The message's id, ${ID}.`,
  compaction: `The compaction's id, ${ID}.`,
  owner: "Whose memory: `user`, `user:{id}`, `session:{id}` or `key:{name}`, percent-encoded.",
  label: `The label, ${ID}.`,
  key: `The key of the entry or of the record, ${ID}.`,
  user: `The user's id, ${ID}.`,
  tool: "The tool's name.",
  apiKey: "The id of an API key.",
};
