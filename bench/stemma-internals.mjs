// Parts of the package that one row measures alone.
export { encodeMessage } from "./node_modules/.stemma/model/codec.js";
export { parseQuery } from "./node_modules/.stemma/model/query.js";
export { FEWEST } from "./node_modules/.stemma/model/rank.js";
export { documentTerms, queryTerms } from "./node_modules/.stemma/model/terms.js";
export { searchDocument } from "./node_modules/.stemma/model/text.js";
export { createRunner } from "./node_modules/.stemma/storage/engine/runner.js";
export { rankByWords } from "./node_modules/.stemma/storage/operations/search/search.js";
export { connectClient } from "./node_modules/.stemma/storage/sqlite/client.js";
export { sqliteDialect } from "./node_modules/.stemma/storage/sqlite/dialect.js";
