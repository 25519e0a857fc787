// Parts of the package that one row measures alone.
export { parseQuery } from "./node_modules/.stemma/model/query.js";
export { createRunner } from "./node_modules/.stemma/storage/sql/run.js";
export { rankByWords } from "./node_modules/.stemma/storage/sql/search.js";
export { sqliteDialect } from "./node_modules/.stemma/storage/sql/sqlite-dialect.js";
export { connectClient } from "./node_modules/.stemma/storage/sql/sync-client.js";
