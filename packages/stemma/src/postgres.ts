export {
  type PGliteDatabase,
  type PgClientLike,
  type PostgresClient,
  type PostgresConnection,
  type PostgresHandle,
  type PostgresJs,
  type PostgresOptions,
  type PostgresPool,
  type PostgresSource,
  postgres,
  schemaSql,
} from "@stemma/postgres/postgres";
