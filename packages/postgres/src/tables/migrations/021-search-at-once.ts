import { HITS, MATCHES } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";

/** Version 21. A search is one statement, or two, without a transaction around them. */
export const searchAtOnce: PostgresMigration = {
  definitions: [
    "DROP FUNCTION IF EXISTS assistant_matches(BIGINT, BIGINT, TEXT, BIGINT)",
    "DROP FUNCTION IF EXISTS assistant_matches_in(TEXT, BIGINT, BIGINT, TEXT, BIGINT)",
    "DROP FUNCTION IF EXISTS assistant_hits(TEXT, TEXT)",
    MATCHES,
    HITS,
  ],
};
