import { HITS } from "../../search/hits-function.js";
import { MATCHES, MATCHES_IN } from "../../search/search-function.js";
import type { PostgresMigration } from "../migration.js";

/** Version 21. A search is one statement, or two, without a transaction around them. */
export const searchAtOnce: PostgresMigration = {
  definitions: [
    "DROP FUNCTION IF EXISTS assistant_matches(BIGINT, BIGINT, TEXT, BIGINT)",
    "DROP FUNCTION IF EXISTS assistant_matches_in(TEXT, BIGINT, BIGINT, TEXT, BIGINT)",
    "DROP FUNCTION IF EXISTS assistant_hits(TEXT, TEXT)",
    MATCHES,
    MATCHES_IN,
    HITS,
  ],
};
