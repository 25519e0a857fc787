import { RECENT } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";

/** Version 14. The newest messages of a path are one round trip. */
export const readRecentAsOne: PostgresMigration = { definitions: [RECENT] };
