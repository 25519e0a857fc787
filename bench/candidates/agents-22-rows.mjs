/**
 * Writes messages as rows, as appends of agents@0.22 leave them in its tables, below the first, which is there. Its own appends
 * read the index of all messages each time.
 */
export function writeRows(db, sessionId, [first, ...messages]) {
  const row = db.prepare(
    "INSERT INTO assistant_messages (id, session_id, parent_id, role, content) VALUES (?, ?, ?, ?, ?)",
  );
  const text = db.prepare("INSERT INTO assistant_fts (id, session_id, role, content) VALUES (?, ?, ?, ?)");
  db.transaction(() => {
    let parent = first.id;
    for (const { id, role, parts } of messages) {
      row.run(id, sessionId, parent, role, JSON.stringify({ id, role, parts }));
      const words = parts.filter(({ type }) => type === "text").map((part) => part.text);
      text.run(id, sessionId, role, words.join(" "));
      parent = id;
    }
  })();
}
