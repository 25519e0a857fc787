import { APPEND, APPEND_ALL } from "../../append/append.js";
import { APPEND_ALL_AS, APPEND_AS } from "../../append/append-rows.js";
import { DELEGATED_AS, delegateNew } from "../../citus/delegated.js";
import type { PostgresMigration } from "../migration.js";

/** Version 13. A user's append is one function, and messages that follow each other are written as one set. */
export const appendAsOne: PostgresMigration = {
  definitions: [APPEND, APPEND_ALL, APPEND_AS, APPEND_ALL_AS, delegateNew(DELEGATED_AS)],
};
