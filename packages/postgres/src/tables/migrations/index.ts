import type { PostgresMigration } from "../migration.js";
import { createTables } from "./001-tables.js";
import { indexTerms } from "./002-index-terms.js";
import { createRecords } from "./003-records.js";
import { addOwners } from "./004-owners.js";
import { createVersions } from "./005-versions.js";
import { addChangesAndUsage } from "./006-changes-and-usage.js";
import { addEntryValues } from "./007-entry-values.js";
import { addListsAndSums } from "./008-lists-and-sums.js";
import { lockSessions } from "./009-session-locks.js";
import { shortenPendingLists } from "./010-short-pending-lists.js";
import { nameSessions } from "./011-rows-by-session.js";
import { keySessions } from "./012-keys-by-session.js";
import { appendAsOne } from "./013-appends-as-one.js";
import { readRecentAsOne } from "./014-recent.js";
import { findMatches } from "./015-matches.js";
import { shareNumbers } from "./016-shared-numbers.js";
import { insertPlainly } from "./017-plain-inserts.js";
import { findByTheRightIndex } from "./018-by-the-right-index.js";
import { searchLess } from "./019-search-less.js";
import { appendTogether } from "./020-appends-together.js";
import { searchAtOnce } from "./021-search-at-once.js";
import { searchSooner } from "./022-search-sooner.js";
import { searchByGuesses } from "./023-search-by-guesses.js";
import { indexNormalTerms } from "./024-normal-terms.js";
import { keepDocumentedColumns } from "./025-documented-columns.js";

/** The versions of the tables, from the first on. Only ever appended to. */
export const POSTGRES_MIGRATIONS: readonly PostgresMigration[] = [
  createTables,
  indexTerms,
  createRecords,
  addOwners,
  createVersions,
  addChangesAndUsage,
  addEntryValues,
  addListsAndSums,
  lockSessions,
  shortenPendingLists,
  nameSessions,
  keySessions,
  appendAsOne,
  readRecentAsOne,
  findMatches,
  shareNumbers,
  insertPlainly,
  findByTheRightIndex,
  searchLess,
  appendTogether,
  searchAtOnce,
  searchSooner,
  searchByGuesses,
  indexNormalTerms,
  keepDocumentedColumns,
];
