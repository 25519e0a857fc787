import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { claudeSessionStore } from "../../../packages/stemma/src/claude.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { transcript } from "../../claude/transcripts.js";
import { openDatabase } from "../../store/databases.js";
import { failingClient } from "../../store/file-target.js";

const ENTRIES = 10_000;

// The first append in a second dates its session.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

it("runs the same statements for an append, whatever the length of the transcript, and writes nothing anew", async () => {
  const statements: string[] = [];
  const database = openDatabase();
  const store = claudeSessionStore(sqlite(failingClient(database, (statement) => statements.push(statement))));
  const key = { projectKey: "p", sessionId: "s" };
  const { user, assistant, other } = transcript("s");
  let last: string | null = null;
  const next = (index: number) => {
    const make = [user, assistant][index % 2] ?? user;
    const entry = index % 5 === 4 ? other(last, "attachment") : make(last, [{ type: "text", text: `text ${index}` }]);
    last = entry.uuid;
    return entry;
  };
  const cost = async (start: number) => {
    statements.length = 0;
    await store.append(key, [next(start), next(start + 1), { type: "mode", mode: "normal" }]);
    return [...statements];
  };

  await store.append(key, [next(0), next(1)]);
  const before = await cost(2);
  const entries = Array.from({ length: ENTRIES }, (_, index) => next(index + 1));
  await store.append(key, entries);
  const changes = () => database.prepare("SELECT total_changes() AS n").get() as { n: number };
  const { n } = changes();
  expect((await cost(2)).length).toBe(before.length);
  // The head, the session's row, two messages with their search entries, and a record.
  expect(changes().n - n).toBeLessThan(20);
  const all = await store.load(key);
  expect(all?.length).toBe(ENTRIES + 8);
  expect(all?.slice(5, -3)).toEqual(entries);
});
