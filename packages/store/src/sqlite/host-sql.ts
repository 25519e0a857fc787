import { queueOf, StemmaError } from "@stemma/model";
import type { Store } from "../contract/store.js";
import type { SyncConnection } from "../engine/connection.js";
import type { Row, SqlValue, Statement } from "../engine/operation.js";
import { sqlStore } from "../sql/sql-store.js";
import { sqliteDialect } from "./dialect.js";
import { tellingErrors } from "./error.js";
import { scrubObject } from "./scrub.js";
/** A row of a Durable Object holds 2 MB; this leaves room for its other columns. */
export const MAX_TEXT_BYTES = 1_900_000;

/** A store on a host's own database. Without `transactionSync` on the host, each statement is atomic by itself only. */
export function hostStore(host: SqlHost): Store {
  const connection = connectHost(host);
  const dialect = sqliteDialect({ name: "agent", maxTextBytes: MAX_TEXT_BYTES, search: true });
  return sqlStore(connection, dialect, {
    transactions: transactionOf(host) !== null,
    durable: true,
    order: queueOf(host),
    scrub: scrubObject,
  });
}

// Bytes are vectors, which a store on a host does not keep.
type TextValue = Exclude<SqlValue, Uint8Array>;

function connectHost(host: SqlHost): SyncConnection {
  const templates = new Map<string, TemplateStringsArray>();
  const template = (sql: string): TemplateStringsArray => {
    const strings = sql.split("?");
    const made: TemplateStringsArray = Object.assign(strings, { raw: strings });
    templates.set(sql, made);
    return made;
  };
  return {
    kind: "sync",
    query: ({ sql, values }: Statement) =>
      tellingErrors(() => rowsOf(host.sql(templates.get(sql) ?? template(sql), ...(values as TextValue[])))),
    transaction: (_mode, work) => (transactionOf(host) ?? ((run) => run()))(work),
    // The database is the host's.
    close: () => {},
  };
}

// A statement that gives no rows may give nothing at all.
function rowsOf(result: unknown): Row[] {
  if (result === undefined || result === null) return [];
  if (Symbol.iterator in Object(result)) return Array.from(result as Iterable<Row>);
  const message =
    "The sql template of this object did not give rows at once. One that answers with a promise cannot be used: pass a store, such as postgres(client).";
  throw new StemmaError("STORE_UNSUPPORTED", {}, message);
}

/** An object with a synchronous `sql` tagged template over SQLite that gives rows: a Cloudflare `Agent` is one. */
export interface SqlHost {
  sql(strings: TemplateStringsArray, ...values: (string | number | boolean | null)[]): unknown;
}

/** A host's SQL for whoever calls it: rows come as `T`. */
export interface SqlProvider {
  sql<T = Record<string, string | number | boolean | null>>(
    strings: TemplateStringsArray,
    ...values: (string | number | boolean | null)[]
  ): T[];
}

export function isSqlHost(value: unknown): value is SqlHost {
  return typeof value === "object" && value !== null && typeof (value as { sql?: unknown }).sql === "function";
}

type RunInTransaction = <T>(work: () => T) => T;

/** Runs work as one transaction. A Durable Object has it at ctx.storage; other hosts may offer it themselves. */
function transactionOf(host: SqlHost): RunInTransaction | null {
  const { ctx, transactionSync } = host as { ctx?: { storage?: unknown }; transactionSync?: unknown };
  if (typeof transactionSync === "function") return (work) => transactionSync.call(host, work);
  const storage = ctx?.storage as { transactionSync?: RunInTransaction } | undefined;
  return typeof storage?.transactionSync === "function" ? storage.transactionSync.bind(storage) : null;
}
