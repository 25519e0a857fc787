import { yieldNow } from "@stemma/model";
import type { Row, SqlValue } from "@stemma/store";
import { notConnected } from "../error.js";
import { statementNames } from "../tables/names.js";
import type { PostgresDriver, PostgresQuery, PostgresRows } from "./column-types.js";
import { alone, BEGIN, inTransaction, isInTransaction, SAVEPOINT } from "./transaction.js";

/** An answer of pg and PGlite. */
export interface FieldsResult {
  rows: Row[];
  fields: { name: string; dataTypeID: number }[];
}

/** The part of a `Client` of pg that is used. */
export interface PgClientShape {
  query(config: object): Promise<FieldsResult | FieldsResult[]>;
  on?(event: "error", listener: () => void): unknown;
  off?(event: "error", listener: () => void): unknown;
  listenerCount?(event: "error"): number;
  /** "T" inside a transaction of the host's. */
  getTransactionStatus?(): string | null;
  readonly _connected?: boolean;
  readonly _connecting?: boolean;
}

/** The part of a `Pool` of pg that is used. */
export interface PgPoolShape extends Omit<PgClientShape, "on"> {
  connect(): Promise<PgClientShape & { release(destroy?: boolean): void }>;
  on?(event: "error" | "connect", listener: (client: PgClientShape) => void): unknown;
  listeners?(event: "connect"): unknown[];
}

// Values come as the server wrote them: a host may have parsers of its own.
const types = { getTypeParser: () => (text: unknown) => text };

function pgQuery(client: PgClientShape): PostgresQuery {
  // Without values it may be several statements, and gives a result for each.
  return async (text, values) =>
    fromFields(await client.query(values.length === 0 ? { text, types } : { text, values, types }));
}

// A statement that is frequent has a name, by which the connection knows it again.
function preparing(client: PgClientShape): PostgresQuery {
  const query = pgQuery(client);
  const names = statementNames();
  return async (text, values, isFrequent) => {
    const name = isFrequent === true ? names.nameOf(text) : null;
    if (name === null) return query(text, values);
    try {
      return fromFields(await client.query({ name, text, values, types }));
    } catch (error) {
      if (!names.areLost(error)) throw error;
      return query(text, values);
    }
  };
}

/** The rows of an answer; of several statements those of the first. */
function fromFields(result: FieldsResult | readonly FieldsResult[]): PostgresRows {
  const { rows, fields } = "rows" in result ? result : (result[0] as FieldsResult);
  return { rows, columns: fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID })) };
}

const ignore = () => {};

// A connection that ends while nothing waits for it is an event, which ends the process where no one listens. Whoever
// uses the connection next is told by the failure of the call.
function listen(client: PgClientShape | PgPoolShape): void {
  if (client.listenerCount?.("error") === 0) client.on?.("error", ignore);
}

// A new connection may end in the very packet that hands it out, before there is anyone to listen to it.
function listenToConnections(pool: PgPoolShape): void {
  if (pool.listeners?.("connect").includes(onConnect) === false) pool.on?.("connect", onConnect);
}

const onConnect = (client: PgClientShape) => client.on?.("error", ignore);

/** The driver for a pool of pg. */
export function poolDriver(pool: PgPoolShape, prepare = true): PostgresDriver {
  listen(pool);
  listenToConnections(pool);
  return {
    reconnects: true,
    isPool: true,
    query: prepare ? preparing(pool) : pgQuery(pool),
    async transaction(characteristics, work) {
      const client = await pool.connect();
      client.on?.("error", ignore);
      let broken = false;
      try {
        return await inTransaction(pgQuery(client), BEGIN(characteristics), work, () => {
          broken = true;
        });
      } finally {
        client.off?.("error", ignore);
        client.release(broken);
      }
    },
  };
}

// The call may come before that of `connect()` in the same turn of the event loop.
async function assertConnected(client: PgClientShape): Promise<void> {
  const isIdle = () => client._connected === false && client._connecting === false;
  if (!isIdle()) return;
  await yieldNow();
  if (isIdle()) throw notConnected();
}

/** The driver for one client of pg. */
export function clientDriver(client: PgClientShape, prepare = true): PostgresDriver {
  listen(client);
  const query = pgQuery(client);
  const prepared = prepare ? preparing(client) : query;
  return {
    reconnects: false,
    isPool: false,
    query: (sql, values, isFrequent) =>
      alone(client, async () => {
        await assertConnected(client);
        const status = client.getTransactionStatus?.();
        // What fails inside a transaction of the host's, such as a name that the server does not know, would end it.
        if (status === "T") return inTransaction(query, SAVEPOINT, () => query(sql, values));
        return status === "I" ? prepared(sql, values, isFrequent) : query(sql, values);
      }),
    transaction: (characteristics, work) =>
      alone(client, async () => {
        await assertConnected(client);
        // Inside a transaction of the host's, ours is a savepoint of it. Not every client that is like pg's tells.
        const status = client.getTransactionStatus?.();
        const nested = status === undefined ? await isInTransaction(query) : status === "T";
        return inTransaction(query, nested ? SAVEPOINT : BEGIN(characteristics), work);
      }),
  };
}

/** The part of a PGlite database that is used. */
export interface PGliteShape {
  query(sql: string, values: readonly SqlValue[], options?: object): Promise<FieldsResult>;
  transaction<T>(work: (connection: Pick<PGliteShape, "query">) => Promise<T>): Promise<T>;
}

// Its own parser takes the year 1 for 2001.
const AS_WRITTEN = { parsers: { 1184: (text: string) => text } };

/** The driver for a PGlite database. */
export function pgliteDriver(database: PGliteShape): PostgresDriver {
  const queryOn =
    (connection: Pick<PGliteShape, "query">): PostgresQuery =>
    async (sql, values) =>
      fromFields(await connection.query(sql, values, AS_WRITTEN));
  return {
    reconnects: false,
    isPool: false,
    query: queryOn(database),
    // Its only connection runs one transaction at a time, so that there is nothing to isolate.
    transaction: (_characteristics, work) => database.transaction((connection) => work(queryOn(connection))),
  };
}
