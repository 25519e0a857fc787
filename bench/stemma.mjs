// The package, as `prepare.mjs` built it for this run.
export { FileSessionStorage } from "./node_modules/.stemma/agent.js";
export { postgres } from "./node_modules/.stemma/postgres.js";
export { Session, SessionManager } from "./node_modules/.stemma/session.js";
export { sqlite } from "./node_modules/.stemma/sqlite.js";
export { createCompactFunction, estimateStringTokens } from "./node_modules/.stemma/utils.js";
