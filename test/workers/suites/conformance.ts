// The conformance suite, on the database of the object that a case runs in.

import { describeStore, type StoreTarget } from "../../../packages/stemma/src/testing.js";
import { type DurableObjectSqlStorage, durableObject } from "../../../packages/store/src/durable-object.js";
import { hostStore } from "../../../packages/store/src/sqlite/host-sql.js";
import { Agent, here } from "./host.js";
import { describe, it } from "./vitest.js";

/** What Durable Objects in production take of one statement. */
const MAX_PARAMETERS = 100;
const MAX_STATEMENT_BYTES = 100_000;

type Before = (statement: string) => void;

function storage(before: Before = () => {}): DurableObjectSqlStorage {
  const { sql, transactionSync } = here().ctx.storage;
  return {
    sql: {
      databaseSize: sql.databaseSize,
      exec: (query, ...values) => {
        if (values.length > MAX_PARAMETERS || query.length > MAX_STATEMENT_BYTES) throw new Error("too large");
        before(query);
        return sql.exec(query, ...values);
      },
    },
    transactionSync: (work) => {
      before("BEGIN");
      return transactionSync.call(here().ctx.storage, () => {
        const result = work();
        before("COMMIT");
        return result;
      }) as ReturnType<typeof work>;
    },
  };
}

class FaultyAgent extends Agent {
  constructor(readonly before: Before) {
    super();
    Object.assign(this, { ctx: { storage: storage(before) } });
  }

  override sql<T>(strings: TemplateStringsArray, ...values: (string | number | boolean | null)[]): T[] {
    this.before(strings.join("?"));
    return super.sql(strings, ...values);
  }
}

const empty = () => here().ctx.storage.deleteAll();

const common = {
  corrupt: (_store: unknown, sessionId: string, messageId: string) => {
    const statement = "UPDATE assistant_messages SET content = substr(content, 1, 10) WHERE session_id = ? AND id = ?";
    here().ctx.storage.sql.exec(statement, sessionId, messageId);
  },
  damage: (_store: unknown, sql: string) => {
    here().ctx.storage.sql.exec(sql);
  },
  dump,
};

const targets: StoreTarget[] = [
  {
    ...common,
    name: "Durable Object",
    capabilities: { search: true, embeddings: true, transactions: true, check: true, durable: true },
    open: async () => {
      await empty();
      return durableObject({ storage: storage() });
    },
    reopen: () => durableObject(here().ctx),
    openWithFaults: async (before) => {
      await empty();
      return durableObject({ storage: storage(before) });
    },
    openWithTools: async () => {
      await empty();
      return durableObject({ storage: storage() }, { search: { tools: true } });
    },
  },
  {
    ...common,
    name: "agent",
    capabilities: { search: true, embeddings: false, transactions: true, check: false, durable: true },
    open: async () => {
      await empty();
      return hostStore(new Agent());
    },
    reopen: () => hostStore(new Agent()),
    openWithFaults: async (before) => {
      await empty();
      return hostStore(new FaultyAgent(before));
    },
  },
];

// A redact that changes nothing changes nothing else either.
const redacted = (storage: DurableObjectSqlStorage) => durableObject({ storage }, { redact: (text) => text });
targets.push({
  ...(targets[0] as StoreTarget),
  name: "Durable Object with redact",
  open: async () => {
    await empty();
    return redacted(storage());
  },
  reopen: () => redacted(here().ctx.storage),
  openWithFaults: async (before) => {
    await empty();
    return redacted(storage(before));
  },
});

for (const target of targets) describeStore(target, { describe, it });

/** Every row of every table, and the terms of the search index, whose pages may differ where its contents do not. */
function dump(): Record<string, unknown[]> {
  const { sql } = here().ctx.storage;
  const tables = sql
    .exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name")
    .toArray() as { name: string }[];
  const shown = tables.map(({ name }) => name).filter((name) => !/fts_/.test(name));
  return Object.fromEntries(shown.map((name) => [name, /fts$/.test(name) ? terms(name) : rows(name)]));
}

function rows(table: string): unknown[] {
  const rows = [...here().ctx.storage.sql.exec(`SELECT * FROM "${table}"`).raw()];
  return rows.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function terms(table: string): unknown[] {
  const { sql } = here().ctx.storage;
  sql.exec(`CREATE VIRTUAL TABLE vocabulary USING fts5vocab('${table}', 'instance')`);
  try {
    return [...sql.exec(`SELECT * FROM vocabulary ORDER BY term, doc, "offset"`).raw()];
  } finally {
    sql.exec("DROP TABLE vocabulary");
  }
}
