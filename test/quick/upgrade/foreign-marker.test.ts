import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { Session } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";

/** What rows of another program may hold where our own say how they are stored. */
const MARKERS: unknown[] = [
  { media: [{ path: ["__proto__", "polluted"], hash: "x" }] },
  { media: [{ path: ["parts", 0, "text"], hash: "x" }] },
  { media: "none" },
  { split: "row:1" },
  { date: true },
  { own: 1 },
  "text",
  null,
  5,
];

describe("rows of an upgraded database that hold our own marker", () => {
  it("are data: they come back as they were, and pollute nothing", async () => {
    const database = new Database(":memory:");
    database.exec(`CREATE TABLE assistant_messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL DEFAULT '', parent_id TEXT,
      role TEXT NOT NULL, content TEXT NOT NULL, created_at DATETIME DEFAULT CURRENT_TIMESTAMP)`);
    const insert = database.prepare(
      "INSERT INTO assistant_messages (id, parent_id, role, content) VALUES (?, ?, ?, ?)",
    );
    const parts = [{ type: "text", text: "" }];
    const rows = MARKERS.map(($stemma, index) => ({
      id: `m${index}`,
      role: "user",
      parts,
      $stemma,
      createdAt: "2020",
    }));
    const odd = [
      { id: "null", role: "user", parts: [null, 5, { type: 5 }] },
      { id: "proto", role: "user", parts: [], ["__proto__"]: 1, metadata: JSON.parse('{"__proto__": {"x": 1}}') },
    ];
    let parent: string | null = null;
    for (const row of [...rows, ...odd]) {
      insert.run(row.id, parent, row.role, JSON.stringify(row));
      parent = row.id;
    }
    const session = Session.create(sqlite(database));
    const history = await session.getHistory();
    expect(history.map((message) => JSON.parse(JSON.stringify(message)))).toEqual(
      [...rows, ...odd].map((row) => JSON.parse(JSON.stringify(row))),
    );
    expect("polluted" in {}).toBe(false);
    expect((await session.getRecentHistory(1_000_000)).messages).toHaveLength(rows.length + odd.length);
    // What is written back is data too.
    for (const message of history.slice(0, rows.length)) await session.updateMessage(message);
    expect((await session.getHistory()).slice(0, rows.length)).toEqual(history.slice(0, rows.length));
  });

  it("whose marker is damaged are reported, and never followed", async () => {
    const database = new Database(":memory:");
    const session = Session.create(sqlite(database));
    await session.appendMessage({ id: "a", role: "user", parts: [] });
    for (const path of [["__proto__", "polluted"], ["parts", 0, "text"], ["id"], ["constructor", "x"]]) {
      const content = { id: "a", role: "user", parts: [], $stemma: { media: [{ path, hash: "x" }] } };
      database.prepare("UPDATE assistant_messages SET content = ?").run(JSON.stringify(content));
      await expect(session.getHistory()).rejects.toMatchObject({ code: "CORRUPT_MESSAGE" });
    }
    expect("polluted" in {}).toBe(false);
    database.close();
  });
});
