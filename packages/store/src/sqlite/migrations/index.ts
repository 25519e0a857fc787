import type { Migration } from "../../engine/migrations.js";
import { createTables } from "./001-baseline.js";

/** The versions of the tables, from the first on. From 0.1.0 on only ever appended to. */
export const SQLITE_MIGRATIONS: readonly Migration[] = [createTables];
