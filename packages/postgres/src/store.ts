import { invalid, perObject, Queue, StemmaError } from "@stemma/model";
import type { RedactFunction, SearchSettings, Store } from "@stemma/store";
import { isStore, type OpenStore, openSqlStore } from "@stemma/store";
import { loadSpreadCode, type Placement } from "./citus/placement.js";
import { postgresDialect } from "./dialect.js";
import { clientOf, type PostgresSource, postgresDriver } from "./drivers/client.js";
import type { PostgresDriver } from "./drivers/column-types.js";
import { connectPostgres } from "./drivers/connection.js";
import { isMissing, unfitEncoding } from "./error.js";
import { POSTGRES_MIGRATIONS } from "./tables/migrations/index.js";
import {
  type Apart,
  assertTables,
  READ_APART,
  READ_SETTINGS,
  READ_STATE,
  type Settings,
  type State,
} from "./tables/schema.js";

export interface PostgresOptions {
  /** The schema that holds the tables. Default: the first one of the connection's search path. */
  schema?: string | undefined;
  /**
   * The database is the coordinator of a cluster of Citus, and `migrate()` spreads the tables over its servers by session. Once
   * they are spread, every store finds that out by itself. Default: false.
   */
  citus?: boolean | undefined;
  /**
   * The server keeps the few statements of appends, histories and searches prepared, for each connection. With pg, Stemma stops that by itself
   * where a pooler does not know them again. With postgres.js, `false` prepares no statement. Default: true.
   */
  prepare?: boolean | undefined;
  /** The texts of messages are searched; the settings say what else. */
  search?: SearchSettings | undefined;
  /** Called on each text before it is stored, indexed or embedded: what it gives is stored instead. Default: none. */
  redact?: RedactFunction | undefined;
}

/** A store on a client of Postgres. `close` ends what was opened for the store; a user's own client stays open. */
export function openPostgres(
  driver: PostgresDriver,
  options: PostgresOptions = {},
  close: () => Promise<void> = async () => {},
  migrations = POSTGRES_MIGRATIONS,
  order?: Queue,
): OpenStore {
  const schema = schemaOf(options);
  const placement: Placement = { isSpread: false, isApart: false, code: null };
  let isIso = true;
  const connection = connectPostgres(driver, schema, close, {
    // Sessions of one statement would be on several servers.
    mayGather: () => !placement.isSpread,
    isIso: () => isIso,
  });
  const readState = async (): Promise<State | undefined> => {
    try {
      return ((await connection.query({ sql: READ_STATE, values: [] })) as unknown as State[])[0];
    } catch (error) {
      if (StemmaError.isInstance(error) && isMissing(error.cause)) return undefined;
      throw error;
    }
  };
  const readApart = async (): Promise<boolean> => {
    const [found] = await connection.query({ sql: READ_APART, values: [] });
    return (found as unknown as Apart).apart;
  };
  // Undefined from what only stands in for a client.
  const readSettings = async (): Promise<Settings | undefined> => {
    const [settings] = await connection.query({ sql: READ_SETTINGS, values: [] });
    return settings as unknown as Settings | undefined;
  };
  const isPrepared = async (): Promise<boolean> => {
    const state = await readState();
    const settings = state ?? (await readSettings());
    if (settings !== undefined && settings.encoding !== "UTF8") throw unfitEncoding(settings.encoding);
    if (state !== undefined) assertTables(state, migrations.length);
    isIso = settings?.iso !== false;
    const isReady = state?.version === migrations.length && state.messages === null && state.entries === null;
    placement.isSpread = state?.spread === true;
    placement.isApart = state?.citus === true && !placement.isSpread && (await readApart());
    // Who goes on to make the tables may find that they are spread.
    if (!isReady || placement.isSpread || options.citus === true) placement.code = await loadSpreadCode();
    return isReady && (placement.isSpread || options.citus !== true);
  };
  return openSqlStore(connection, postgresDialect(schema, migrations, placement, options), {
    durable: true,
    transactions: true,
    isPrepared,
    order,
  });
}

/** A store on a client that a user opened: its calls are in one order with those of every store on that client. */
export function openClient(source: PostgresSource, options: PostgresOptions = {}): OpenStore {
  const client = clientOf(source);
  const driver = postgresDriver(client, options.prepare);
  return openPostgres(driver, options, undefined, undefined, orderOf(client, schemaOf(options)));
}

const ordersOf = perObject((_source: PostgresSource) => new Map<string | null, Queue>());

function orderOf(source: PostgresSource, schema: string | null): Queue {
  const orders = ordersOf(source);
  const order = orders.get(schema) ?? new Queue();
  orders.set(schema, order);
  return order;
}

const storeOn = perObject((source: PostgresSource) => openClient(source).store);

/** The store on a client, the same each time; a store is its own. Errors: `STORE_UNSUPPORTED`. */
export function postgresStoreOf(source: PostgresSource | Store): Store {
  return isStore(source) ? source : storeOn(source);
}

const MAX_NAME_BYTES = 63;

/** The schema that the options name; null for that of the search path. Errors: `INVALID_ARGUMENT`. */
export function schemaOf({ schema }: PostgresOptions): string | null {
  if (schema === undefined) return null;
  const isName = typeof schema === "string" && schema !== "" && schema.isWellFormed() && !/\0|\$\$/.test(schema);
  // Postgres cuts a longer name short, and two schemas could become one.
  if (isName && new TextEncoder().encode(schema).length <= MAX_NAME_BYTES) return schema;
  const message = `The schema option of postgres() is the name of a schema: 1 to ${MAX_NAME_BYTES} bytes, without NUL and "$$".`;
  throw invalid(message, { schema });
}
