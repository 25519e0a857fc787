// Parts of the package that one row measures alone.
export { encodeMessage } from "./node_modules/.stemma/model/messages/codec.js";
export { joinedTerms } from "./node_modules/.stemma/model/search/joined-terms.js";
export { parseQuery } from "./node_modules/.stemma/model/search/query.js";
export { FEWEST } from "./node_modules/.stemma/model/search/rank.js";
export { queryTerms } from "./node_modules/.stemma/model/search/terms.js";
export { createRunner } from "./node_modules/.stemma/store/engine/runner.js";
export { rankByWords } from "./node_modules/.stemma/store/operations/search/run-search.js";
export { connectClient } from "./node_modules/.stemma/store/sqlite/client.js";
export { sqliteDialect } from "./node_modules/.stemma/store/sqlite/dialect.js";
