/** An object with a synchronous `sql` tagged template over SQLite that gives rows: a Cloudflare `Agent` is one. */
export interface SqlHost {
  sql(strings: TemplateStringsArray, ...values: (string | number | boolean | null)[]): unknown;
}

/** The same for whoever calls it: rows come as `T`. */
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

/** What runs work as one transaction. A Durable Object keeps it at ctx.storage; other hosts may offer it themselves. */
export function transactionOf(host: SqlHost): RunInTransaction | null {
  const { ctx, transactionSync } = host as { ctx?: { storage?: unknown }; transactionSync?: unknown };
  if (typeof transactionSync === "function") return (work) => transactionSync.call(host, work);
  const storage = ctx?.storage as { transactionSync?: RunInTransaction } | undefined;
  return typeof storage?.transactionSync === "function" ? storage.transactionSync.bind(storage) : null;
}
