export {
  type SqliteClient,
  type SqliteOptions,
  type SqliteSource,
  type SqliteStatement,
  sqlite,
} from "@stemma/store/sqlite";
