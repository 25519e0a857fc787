import type { Migration } from "../../engine/migrations.js";
import { createTables } from "./001-tables.js";
import { indexTerms } from "./002-index-terms.js";
import { createRecords } from "./003-records.js";
import { addOwners } from "./004-owners.js";
import { createVersions } from "./005-versions.js";
import { addChangesAndUsage } from "./006-changes-and-usage.js";
import { addEntryValues } from "./007-entry-values.js";
import { addListsAndSums } from "./008-lists-and-sums.js";
import { reuseNumbers } from "./009-reused-numbers.js";
import { addUnindexedMessages } from "./010-unindexed-messages.js";
import { indexNormalTerms } from "./011-normal-terms.js";

/** The versions of the tables, from the first on. Only ever appended to. */
export const SQLITE_MIGRATIONS: readonly Migration[] = [
  createTables,
  indexTerms,
  createRecords,
  addOwners,
  createVersions,
  addChangesAndUsage,
  addEntryValues,
  addListsAndSums,
  reuseNumbers,
  addUnindexedMessages,
  indexNormalTerms,
];
