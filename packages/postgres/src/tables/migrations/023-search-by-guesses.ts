import { MATCHES, MATCHES_AMONG, MATCHES_IN } from "../../search/search-function.js";
import type { PostgresMigration } from "../migration.js";

/** Version 23. A search of a large table reads the rows of a word in the order that takes less, and a search of some sessions only theirs. */
export const searchByGuesses: PostgresMigration = { definitions: [MATCHES, MATCHES_IN, MATCHES_AMONG] };
