import Database from "better-sqlite3";

/** True where better-sqlite3 does not load, and `better-sqlite3.ts` stands for it: it logs no statements and loads no extensions. */
export const isStandIn = "isStandIn" in Database;
