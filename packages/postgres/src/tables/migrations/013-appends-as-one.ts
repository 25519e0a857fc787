import { APPEND, APPEND_ALL } from "../../sql/functions.js";
import type { PostgresMigration } from "../migration.js";

/** Version 13. A user's append is one function, and messages that follow each other are written as one set. */
export const appendAsOne: PostgresMigration = {
  definitions: [APPEND, APPEND_ALL],
};
