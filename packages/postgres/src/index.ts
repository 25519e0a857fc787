export type { PgClientLike, PostgresClient, PostgresConnection, PostgresSource } from "./drivers/client.js";
export { UNREACHABLE } from "./error.js";
export { postgresStoreOf } from "./store.js";
