import { DELEGATED_RECENT, delegateNew } from "../../citus/delegated.js";
import { RECENT } from "../../path/recent.js";
import type { PostgresMigration } from "../migration.js";

/** Version 14. The newest messages of a path are one round trip. */
export const readRecentAsOne: PostgresMigration = { definitions: [RECENT, delegateNew(DELEGATED_RECENT)] };
