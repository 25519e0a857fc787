import { APPEND, APPEND_ALL, PATH, RECENT } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";

/** Version 18. Functions find one message by the index that is made for it, also with a plan that is older than the rows. */
export const findByTheRightIndex: PostgresMigration = { definitions: [APPEND, APPEND_ALL, PATH, RECENT] };
