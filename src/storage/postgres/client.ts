// Longer than 300 lines: it is one list, of the clients of Postgres that there are, each made a driver.
import { StemmaError } from "../../errors.js";
import { queueOf } from "../../queue.js";
import type { Row, SqlValue } from "../engine/operation.js";
import { type BareConnection, bareQuery } from "./bare-connection.js";
import type { PostgresDriver, PostgresQuery, PostgresRows } from "./driver.js";
import { statementNames } from "./statement-names.js";

/** A `Client` or `PoolClient` of pg, or an object whose `query(text, values)` runs a statement on one connection. */
export interface PgClientLike {
  query(...args: never[]): unknown;
}

/** One connection of any driver: runs a statement with `$1`, `$2`, … and gives its rows. */
export interface PostgresConnection {
  execute(
    query: string,
    values?: (string | number | boolean | null)[],
  ): PromiseLike<{ rows: Record<string, unknown>[] }>;
}

/** One connection to Postgres. */
export type PostgresClient = PostgresConnection | PgClientLike;

/** A `Pool` of pg. */
export interface PostgresPool extends PgClientLike {
  connect(...args: never[]): unknown;
  readonly totalCount: number;
}

/** The function that postgres.js gives. */
export interface PostgresJs {
  unsafe(...args: never[]): unknown;
  begin(...args: never[]): unknown;
}

/** A PGlite database. */
export interface PGliteDatabase extends PgClientLike {
  transaction(...args: never[]): unknown;
  exec(...args: never[]): unknown;
}

/** What can stand behind a Postgres store. Which one it is shows in its methods. */
export type PostgresSource = PostgresClient | PostgresPool | PostgresJs | PGliteDatabase;

/** The driver for a client, told by its shape. `prepare` as in `PostgresOptions`. Errors: `STORE_UNSUPPORTED`. */
export function postgresDriver(source: PostgresSource, prepare?: boolean): PostgresDriver {
  if (has(source, "unsafe") && has(source, "begin"))
    return postgresJsDriver(source as unknown as PostgresJsShape, prepare);
  if (has(source, "query")) {
    if (has(source, "transaction") && has(source, "exec")) return pgliteDriver(source as unknown as PGliteShape);
    if (has(source, "connect") && "totalCount" in source) return poolDriver(source as unknown as PoolShape, prepare);
    if (isPgClient(source)) return clientDriver(source as unknown as ClientShape, prepare);
    const { query } = source as unknown as BareConnection;
    return bareDriver(source, (text, values) => query.call(source, text, values));
  }
  if (has(source, "execute")) {
    const { execute } = source as unknown as Record<"execute", BareConnection["query"]>;
    return bareDriver(source, (text, values) => execute.call(source, text, values));
  }
  const message =
    "postgres() takes a URL, a client or pool of pg, a sql function of postgres.js, a PGlite database, or a connection with execute(text, values) or query(text, values).";
  throw new StemmaError("STORE_UNSUPPORTED", {}, message);
}

// Only pg's own clients take a statement with its parsers; others are called with a text and its values.
function isPgClient(source: unknown): boolean {
  return ["on", "escapeIdentifier", "release"].some((method) => has(source, method));
}

function has(source: unknown, method: string): boolean {
  if ((typeof source !== "object" && typeof source !== "function") || source === null) return false;
  return typeof (source as Record<string, unknown>)[method] === "function";
}

// ── pg ──

interface FieldsResult {
  rows: Row[];
  fields: { name: string; dataTypeID: number }[];
}

interface ClientShape {
  query(config: object): Promise<FieldsResult | FieldsResult[]>;
  on?(event: "error", listener: () => void): unknown;
  off?(event: "error", listener: () => void): unknown;
  listenerCount?(event: "error"): number;
  /** "T" inside a transaction of the host's. */
  getTransactionStatus?(): string | null;
}

interface PoolShape extends Omit<ClientShape, "on"> {
  connect(): Promise<ClientShape & { release(destroy?: boolean): void }>;
  on?(event: "error" | "connect", listener: (client: ClientShape) => void): unknown;
  listeners?(event: "connect"): unknown[];
}

// Values come as the server wrote them: a host may have parsers of its own.
const types = { getTypeParser: () => (text: unknown) => text };

function pgQuery(client: ClientShape): PostgresQuery {
  // Without values it may be several statements, and gives a result for each.
  return async (text, values) =>
    fromFields(await client.query(values.length === 0 ? { text, types } : { text, values, types }));
}

// A statement that is frequent has a name, by which the connection knows it again.
function preparing(client: ClientShape): PostgresQuery {
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

function fromFields(result: FieldsResult | readonly FieldsResult[]): PostgresRows {
  const { rows, fields } = "rows" in result ? result : (result[0] as FieldsResult);
  return { rows, columns: fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID })) };
}

const ignore = () => {};

// A connection that ends while nothing waits for it is an event, which ends the process where no one listens. Whoever
// uses the connection next is told by the failure of the call.
function listen(client: ClientShape | PoolShape): void {
  if (client.listenerCount?.("error") === 0) client.on?.("error", ignore);
}

// A new connection may end in the very packet that hands it out, before there is anyone to listen to it.
function listenToConnections(pool: PoolShape): void {
  if (pool.listeners?.("connect").includes(onConnect) === false) pool.on?.("connect", onConnect);
}

const onConnect = (client: ClientShape) => client.on?.("error", ignore);

function poolDriver(pool: PoolShape, prepare = true): PostgresDriver {
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

function clientDriver(client: ClientShape, prepare = true): PostgresDriver {
  listen(client);
  const query = pgQuery(client);
  const prepared = prepare ? preparing(client) : query;
  return {
    reconnects: false,
    isPool: false,
    query: (sql, values, isFrequent) =>
      alone(client, () => {
        // A name that the server does not know would end a transaction of the host's.
        const isIdle = client.getTransactionStatus?.() === "I";
        return isIdle ? prepared(sql, values, isFrequent) : query(sql, values);
      }),
    transaction: (characteristics, work) =>
      alone(client, () => {
        // Inside a transaction of the host's, ours is a savepoint of it.
        const nested = client.getTransactionStatus?.() === "T";
        return inTransaction(query, nested ? SAVEPOINT : BEGIN(characteristics), work, ignore);
      }),
  };
}

function bareDriver(connection: object, run: BareConnection["query"]): PostgresDriver {
  const query = bareQuery(run);
  return {
    reconnects: false,
    isPool: false,
    query: (sql, values) => alone(connection, () => query(sql, values)),
    transaction: (characteristics, work) =>
      alone(connection, () => inTransaction(query, BEGIN_APART(characteristics), work, ignore)),
  };
}

// One connection holds one transaction: others wait for its end.
function alone<T>(client: object, work: () => Promise<T>): Promise<T> {
  return queueOf(client).write("", work);
}

// What our statements read an index has, but without statistics the planner may not see that it pays.
const SETTINGS = "SELECT set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true)";

interface Frame {
  readonly begin: readonly string[];
  readonly commit: string;
  readonly rollback: string;
}

const BEGIN = (characteristics: string): Frame => ({
  begin: [`BEGIN ${characteristics}; ${SETTINGS}`],
  commit: "COMMIT",
  rollback: "ROLLBACK",
});
// Not every driver takes two statements at once.
const BEGIN_APART = (characteristics: string): Frame => ({
  ...BEGIN(characteristics),
  begin: [`BEGIN ${characteristics}`, SETTINGS],
});
const SAVEPOINT: Frame = {
  begin: ["SAVEPOINT stemma"],
  commit: "RELEASE SAVEPOINT stemma",
  rollback: "ROLLBACK TO SAVEPOINT stemma",
};

async function inTransaction<T>(
  query: PostgresQuery,
  frame: Frame,
  work: (query: PostgresQuery) => Promise<T>,
  onBroken: () => void,
): Promise<T> {
  try {
    for (const statement of frame.begin) await query(statement, []);
    const result = await work(query);
    await query(frame.commit, []);
    return result;
  } catch (error) {
    // A connection that cannot roll back is gone, and the server rolls back by itself.
    const [rollback] = await Promise.allSettled([query(frame.rollback, [])]);
    if (rollback.status === "rejected") onBroken();
    throw error;
  }
}

// ── postgres.js ──

interface PostgresJsShape {
  unsafe(
    sql: string,
    values: readonly SqlValue[],
    options: object,
  ): Promise<Row[] & { columns: PostgresRows["columns"] }> & { execute(): Promise<unknown> };
  begin<T>(characteristics: string, work: (sql: PostgresJsShape) => Promise<T>): Promise<T>;
}

// A prepared statement would keep the plan that it got while the tables were empty.
const PLANNED_ANEW = "set_config('plan_cache_mode', 'force_custom_plan', true)";

function postgresJsDriver(sql: PostgresJsShape, prepare = true): PostgresDriver {
  // Prepared, it need not ask for the types of the values each time; a client made with `prepare: false` does not.
  const queryOn =
    (connection: PostgresJsShape): PostgresQuery =>
    async (text, values) => {
      const rows = await connection.unsafe(text, values, { prepare });
      return { rows, columns: rows.columns ?? [] };
    };
  return {
    reconnects: true,
    isPool: true,
    query: queryOn(sql),
    transaction: (characteristics, work) =>
      sql.begin(characteristics, async (connection) => {
        // Sent together with what follows, whose failure would be this one's too.
        const set = Promise.allSettled([connection.unsafe(`${SETTINGS}, ${PLANNED_ANEW}`, [], {}).execute()]);
        const result = await work(queryOn(connection));
        await set;
        return result;
      }),
  };
}

// ── PGlite ──

interface PGliteShape {
  query(sql: string, values: readonly SqlValue[]): Promise<FieldsResult>;
  transaction<T>(work: (connection: Pick<PGliteShape, "query">) => Promise<T>): Promise<T>;
}

function pgliteDriver(database: PGliteShape): PostgresDriver {
  const queryOn =
    (connection: Pick<PGliteShape, "query">): PostgresQuery =>
    async (sql, values) =>
      fromFields(await connection.query(sql, values));
  return {
    reconnects: false,
    isPool: false,
    query: queryOn(database),
    // Its only connection runs one transaction at a time, so that there is nothing to isolate.
    transaction: (_characteristics, work) => database.transaction((connection) => work(queryOn(connection))),
  };
}
