import { MATCHES } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";

/** Version 22. A search looks at more rows before it looks up a common word, and for all branches at once. */
export const searchSooner: PostgresMigration = { definitions: [MATCHES] };
