/** What the tests use of the `ctx` of a Durable Object. */
export interface TestContext {
  readonly storage: {
    readonly sql: {
      readonly databaseSize: number;
      exec(query: string, ...values: (string | number | boolean | null | Uint8Array)[]): TestCursor;
    };
    transactionSync<T>(work: () => T): T;
    getAlarm(): Promise<number | null>;
    setAlarm(time: number): Promise<void>;
    sync(): Promise<void>;
    deleteAll(): Promise<void>;
  };
  abort(reason?: string): void;
}

export interface TestCursor {
  toArray(): object[];
  raw(): Iterable<unknown[]>;
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

interface TestNamespace {
  idFromName(name: string): unknown;
  get(id: unknown): { fetch(request: Request): Promise<Response> };
}

/** The worker's own handler: `/Class/name/method`, with the arguments as JSON, goes to the object. */
export const route = {
  fetch(request: Request, env: Record<string, TestNamespace>): Promise<Response> | Response {
    const [, className = "", name = ""] = new URL(request.url).pathname.split("/").map(decodeURIComponent);
    const namespace = env[className];
    if (namespace === undefined) return new Response(null, { status: 404 });
    return namespace.get(namespace.idFromName(name)).fetch(request);
  },
};

/** A Durable Object whose methods are called by name, with JSON in and out. */
export class RemoteObject<Env = unknown> {
  constructor(
    readonly ctx: TestContext,
    readonly env: Env,
  ) {}

  async fetch(request: Request): Promise<Response> {
    const method = decodeURIComponent(new URL(request.url).pathname.split("/")[3] ?? "");
    try {
      const methods = this as unknown as Record<string, (...args: unknown[]) => unknown>;
      const value = await methods[method]?.(...((await request.json()) as unknown[]));
      return Response.json({ value });
    } catch (error) {
      const { name, message, code, stack } = error as Error & { code?: string };
      return Response.json({ error: { name, message, code, stack } });
    }
  }
}

/** Shaped like Cloudflare's `Agent`: a Durable Object with a `sql` tagged template and `broadcast`. */
export class Agent<Env = unknown> extends RemoteObject<Env> {
  readonly broadcasts: unknown[] = [];

  sql<T = Record<string, string | number | boolean | null>>(
    strings: TemplateStringsArray,
    ...values: (string | number | boolean | null)[]
  ): T[] {
    return this.ctx.storage.sql.exec(strings.join("?"), ...values).toArray() as T[];
  }

  broadcast(text: string): void {
    this.broadcasts.push(JSON.parse(text));
  }
}
