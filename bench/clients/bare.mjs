// The least that an append can be on Postgres: a function that inserts a row behind the newest one.
import { readFileSync } from "node:fs";

const TABLES = readFileSync(new URL("../../test/postgres/documents-schema.sql", import.meta.url), "utf8");
const FUNCTION = `CREATE FUNCTION bare_append(p_session TEXT, p_id TEXT, p_role TEXT, p_content TEXT, p_text TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO assistant_messages (session_id, id, parent_id, role, content, text_content)
    VALUES (p_session, p_id,
      (SELECT m.id FROM assistant_messages m WHERE m.session_id = p_session ORDER BY m.created_at DESC LIMIT 1),
      p_role, p_content, p_text);
END $$`;
const INDEX = "CREATE INDEX newest ON assistant_messages (session_id, created_at)";

export async function startBare(pool) {
  for (const statement of [TABLES, FUNCTION, INDEX]) await pool.query(statement);
  const call = { name: "bare_append", text: "SELECT bare_append($1, $2, $3, $4, $5)" };
  return (sessionId, message) => {
    const { id, role, parts } = message;
    return pool.query({ ...call, values: [sessionId, id, role, JSON.stringify(message), parts[0].text] });
  };
}
