import { APPEND_ALL } from "../append-all.js";
import { DELEGATED_AS, delegate } from "../delegated.js";
import { APPEND, APPEND_ALL_AS, APPEND_AS } from "../functions.js";
import type { PostgresMigration } from "../migration.js";

/** Where rows are spread over servers already: tables that are spread later have their functions delegated then. */
const DELEGATE_NEW = `DO $$ BEGIN
  IF to_regprocedure('assistant_spread()') IS NOT NULL THEN
    ${DELEGATED_AS.map((each) => `PERFORM ${delegate(each)};`).join("\n    ")}
  END IF;
END $$`;

/** Version 13. A user's append is one function, and messages that follow each other are written as one set. */
export const appendAsOne: PostgresMigration = {
  definitions: [APPEND, APPEND_ALL, APPEND_AS, APPEND_ALL_AS, DELEGATE_NEW],
};
