import { MATCHES } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";

/** Version 19. A search reads its rows once, and estimates what the store holds from few of them. */
export const searchLess: PostgresMigration = { definitions: [MATCHES] };
