import { MockLanguageModelV3 } from "ai/test";
import Database from "better-sqlite3";
import type { Store } from "../../packages/stemma/src/session.js";
import type { DurableObjectContext, DurableObjectCursor } from "../../packages/store/src/durable-object.js";

/** Stands for the documents' `Agent`: an object with a `sql` tagged template and `broadcast`, here over better-sqlite3. */
export class Agent<Env = Record<string, unknown>> {
  readonly env: Env;
  readonly broadcasts: unknown[] = [];
  readonly #database = new Database(":memory:");

  constructor(env: Env = {} as Env) {
    this.env = env;
    // A store in the place of `this`: it is told by its methods, before the sql template is looked for.
    if (openStore !== null) Object.assign(this, openStore());
  }

  readonly ctx = {
    storage: { transactionSync: <T>(work: () => T): T => this.#database.transaction(work)() },
  };

  sql<T = Record<string, string | number | boolean | null>>(strings: TemplateStringsArray, ...values: unknown[]): T[] {
    const statement = this.#database.prepare(strings.join("?"));
    if (statement.reader) return statement.all(...values) as T[];
    statement.run(...values);
    return [];
  }

  broadcast(text: string): void {
    this.broadcasts.push(JSON.parse(text));
  }
}

let openStore: (() => Store) | null = null;

/** Makes every agent a store from now on, so that the documents' samples run on it as they are. */
export function runOn(open: () => Store): void {
  openStore = open;
}

/** The `ctx` of a Durable Object that is backed by SQLite. */
export function objectContext(): DurableObjectContext {
  const database = new Database(":memory:");
  const exec = (query: string, ...values: unknown[]): DurableObjectCursor => {
    const statement = database.prepare(query);
    const rows = statement.reader ? (statement.all(...values) as object[]) : [];
    if (!statement.reader) statement.run(...values);
    return { toArray: () => rows, raw: () => rows.map((row) => Object.values(row)) };
  };
  return {
    storage: { sql: { databaseSize: 0, exec }, transactionSync: (work) => database.transaction(work)() },
  };
}

/** Stands for an R2 bucket binding. */
export class Bucket {
  readonly objects = new Map<string, { text: string; customMetadata?: Record<string, string> }>();

  async put(key: string, text: string, options: { customMetadata?: Record<string, string> } = {}): Promise<void> {
    this.objects.set(key, { text, ...options });
  }

  async get(key: string) {
    const object = this.objects.get(key);
    return object === undefined ? null : { key, customMetadata: object.customMetadata, text: async () => object.text };
  }

  async head(key: string) {
    return this.get(key);
  }

  async list({ prefix = "" }: { prefix?: string; cursor?: string; include?: string[] } = {}) {
    const objects = [...this.objects]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, { customMetadata }]) => ({ key, customMetadata }));
    return { objects, truncated: false as const };
  }
}

/** A language model of the AI SDK that answers with `text`. */
export function modelThatSays(text: string): MockLanguageModelV3 {
  const usage = {
    inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 5, text: 5, reasoning: 0 },
  };
  const finishReason = { unified: "stop" as const, raw: "stop" };
  return new MockLanguageModelV3({
    doGenerate: async () => ({ content: [{ type: "text", text }], finishReason, usage, warnings: [] }),
    doStream: async () => ({
      stream: new ReadableStream({
        start(controller) {
          controller.enqueue({ type: "stream-start", warnings: [] });
          controller.enqueue({ type: "text-start", id: "1" });
          controller.enqueue({ type: "text-delta", id: "1", delta: text });
          controller.enqueue({ type: "text-end", id: "1" });
          controller.enqueue({ type: "finish", finishReason, usage });
          controller.close();
        },
      }),
    }),
  });
}
