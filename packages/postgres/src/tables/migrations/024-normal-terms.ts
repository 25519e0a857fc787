import { markAllUnindexed } from "@stemma/store";
import type { PostgresMigration } from "../migration.js";

/** Version 24. The search index holds terms of normal texts: "ＵＳＢ" is "usb", "ß" is "ss". It is made anew from the rows. */
export const indexNormalTerms: PostgresMigration = { definitions: [], rows: markAllUnindexed };
