import { APPEND, APPEND_ALL } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";

/** Version 17. An append looks first whether it knows the message, so that its insert need not make sure of that in each index. */
export const insertPlainly: PostgresMigration = { definitions: [APPEND, APPEND_ALL] };
