// The baseline: what the database itself costs, written by hand with nothing around it. An append is one transaction of a
// row and its index entry; a history is one ordered SELECT and JSON.parse.

/** Opens the baseline's tables on a better-sqlite3 database. */
export function openBaseline(db) {
  db.exec(`
    CREATE TABLE IF NOT EXISTS m (
      session_id TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, parent TEXT, role TEXT NOT NULL,
      content TEXT NOT NULL, tokens INTEGER NOT NULL, PRIMARY KEY (session_id, seq)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX IF NOT EXISTS m_id ON m (session_id, id);
    CREATE VIRTUAL TABLE IF NOT EXISTS f USING fts5(text, content='', contentless_delete=1, tokenize='porter unicode61');
  `);
  const insertRow = db.prepare(
    "INSERT INTO m (session_id, seq, id, parent, role, content, tokens) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const insertText = db.prepare("INSERT INTO f (rowid, text) VALUES (?, ?)");
  const selectAll = db.prepare("SELECT content FROM m WHERE session_id = ? ORDER BY seq");
  const selectLast = db.prepare(
    "SELECT content FROM (SELECT seq, content FROM m WHERE session_id = ? ORDER BY seq DESC LIMIT ?) ORDER BY seq",
  );
  const deleteRow = db.prepare("DELETE FROM m WHERE session_id = ? AND id = ?");
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  let n = 0;
  let last = null;
  let seq = 0;
  const insert = (sessionId, message) => {
    n += 1;
    seq += 1;
    insertRow.run(sessionId, seq, message.id, last, message.role, JSON.stringify(message), 0);
    const text = message.parts
      .filter((part) => part.type === "text")
      .map((part) => part.text)
      .join("\n");
    if (text !== "") insertText.run(n, text);
    last = message.id;
  };
  return {
    start() {
      last = null;
      seq = 0;
    },
    append(sessionId, message) {
      begin.run();
      insert(sessionId, message);
      commit.run();
    },
    appendAll(sessionId, messages) {
      begin.run();
      for (const message of messages) insert(sessionId, message);
      commit.run();
    },
    history: (sessionId) => selectAll.all(sessionId).map((row) => JSON.parse(row.content)),
    last: (sessionId, count) => selectLast.all(sessionId, count).map((row) => JSON.parse(row.content)),
    delete: (sessionId, id) => deleteRow.run(sessionId, id),
  };
}
