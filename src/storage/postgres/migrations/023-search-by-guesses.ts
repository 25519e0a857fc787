import type { PostgresMigration } from "../migration.js";
import { MATCHES, MATCHES_IN } from "../search-function.js";

/** Version 23. A search of a large table reads the rows of a word in the order that takes less. */
export const searchByGuesses: PostgresMigration = { definitions: [MATCHES, MATCHES_IN] };
