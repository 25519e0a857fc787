/**
 * SQL for the rest of a statement that reads one message of the session `p_session`, by its id or by its row id. Two indexes
 * begin with the session. A plan that was made while the tables were empty may take the other one, and then goes through all
 * messages of the session; Postgres keeps such a plan. The order is what only the right index has.
 */
export const messageOf = (alias: string, column: "id" | "n", value: string): string =>
  `assistant_messages ${alias} WHERE ${alias}.session_id = p_session AND ${alias}.${column} BETWEEN ${value} AND ${value}
          ORDER BY ${alias}.${column} LIMIT 1`;
