import { APPEND, APPEND_ALL, APPEND_EACH, HITS, MATCHES, NEWEST, PATH, RECENT, VIEW } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";

const ROW = "TIMESTAMPTZ, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, INTEGER, TEXT, INTEGER, TEXT, TEXT";

/** Version 23. A search reads the rows of a word in the order that takes less, and a search of some sessions only theirs. */
export const searchByGuesses: PostgresMigration = {
  definitions: [
    // What appends and searches were made of.
    "DROP FUNCTION IF EXISTS assistant_use(TEXT, TEXT, TIMESTAMPTZ)",
    `DROP FUNCTION IF EXISTS assistant_append(TEXT, ${ROW})`,
    `DROP FUNCTION IF EXISTS assistant_append_as(TEXT, TEXT, ${ROW})`,
    "DROP FUNCTION IF EXISTS assistant_append_all(TEXT, TIMESTAMPTZ, TEXT)",
    "DROP FUNCTION IF EXISTS assistant_append_all_as(TEXT, TEXT, TIMESTAMPTZ, TEXT)",
    "DROP FUNCTION IF EXISTS assistant_matches(BIGINT, BIGINT, TEXT, TEXT, BIGINT, BIGINT)",
    "DROP FUNCTION IF EXISTS assistant_matches_in(TEXT, BIGINT, BIGINT, TEXT, TEXT, BIGINT, BIGINT)",
    "DROP FUNCTION IF EXISTS assistant_matches_among(TEXT[], BIGINT, BIGINT, TEXT, TEXT, BIGINT, BIGINT)",
    ...[APPEND, APPEND_ALL, APPEND_EACH, VIEW, PATH, RECENT, NEWEST, MATCHES, HITS],
  ],
};
