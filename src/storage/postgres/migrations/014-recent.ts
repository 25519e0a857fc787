import { DELEGATED_RECENT, delegateNew } from "../delegated.js";
import type { PostgresMigration } from "../migration.js";
import { RECENT } from "../recent.js";

/** Version 14. The newest messages of a path are one round trip. */
export const readRecentAsOne: PostgresMigration = { definitions: [RECENT, delegateNew(DELEGATED_RECENT)] };
