import { APPEND_EACH } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";

/** Version 20. Appends to several sessions may be one call. */
export const appendTogether: PostgresMigration = { definitions: [APPEND_EACH] };
