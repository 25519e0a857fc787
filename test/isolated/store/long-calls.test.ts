import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { message, numbered } from "../../../packages/conformance/src/samples.js";
import { Session } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { type SqliteClient, sqlite } from "../../../packages/store/src/sqlite.js";
import { measure } from "../../../reliability/pauses/measure.js";
import { makeFastFolder } from "../../helpers/fast-folder.js";
import { openDatabase } from "../../store/databases.js";

const LENGTH = 20_000;
const folder = makeFastFolder();
const path = join(folder, "long.db");
let store: Store;

const messages = numbered("m", LENGTH).map((id) => message(id, `${id} says something of some length`));
const last = messages.at(-1)?.id ?? "";
let forks = 0;

/** A session that is as long as the first one. */
async function longSession(): Promise<string> {
  forks += 1;
  return (await store.sessions.fork("long", last, { id: `fork${forks}`, name: "" })).id;
}

const count = (id: string) => store.session(id).count();

beforeAll(async () => {
  store = sqlite(path, { synchronous: "normal" });
  await store.sessions.create({ id: "long", name: "" });
  for (let start = 0; start < LENGTH; start += 2000)
    await store.session("long").append(messages.slice(start, start + 2000));
});

afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("on a file of its own, a call of some hundred milliseconds lets the event loop turn", () => {
  const works: Record<string, (id: string) => Promise<unknown>> = {
    fork: (id) => store.sessions.fork(id, last, { id: `${id}-fork`, name: "" }),
    clear: (id) => store.session(id).clear(),
    "delete of a session": (id) => store.sessions.delete(id),
    "delete of every message": (id) => store.session(id).delete(messages.map((each) => each.id)),
    "a read of all": (id) => store.session(id).path(),
    "the tree": (id) => store.session(id).tree(),
    "siblings of all": (id) => store.session(id).siblingIds(messages.map((each) => each.id)),
    "a compaction": (id) => {
      const summarise = async () => ({ fromMessageId: messages[1]?.id ?? "", toMessageId: last, summary: "In short." });
      return Session.create(store).forSession(id).onCompaction(summarise).compact();
    },
    "sizes of all": (id) => store.session(id).rowStats(),
  };

  it.each(Object.keys(works))("%s", async (name) => {
    const id = await longSession();
    const { pause } = await measure(() => works[name]?.(id));
    expect(pause).toBeLessThan(50);
  });
});

describe("what is called while such a call is under way", () => {
  it("waits for it, and takes effect in the order of the calls", async () => {
    const id = await longSession();
    const cleared = store.session(id).clear();
    const appended = store.session(id).append([message("after")]);
    const seen = count(id);
    await store.session(id).append([message("last")]);
    expect([await seen, (await store.session(id).path()).messages.map((each) => each.id)]).toEqual([
      1,
      ["after", "last"],
    ]);
    await Promise.all([cleared, appended]);
  });

  it("is not refused, through whatever store on the file of this process", async () => {
    const id = await longSession();
    const other = sqlite(path, { busyTimeout: 0 });
    const given = sqlite(openDatabase(path) as unknown as SqliteClient);
    await Promise.all([other.migrate(), given.migrate()]);
    const cleared = store.session(id).clear();
    await Promise.all([other.session("other").append([message("o")]), given.session("given").append([message("g")])]);
    expect(await other.session(id).count()).toBe(0);
    await cleared;
    await Promise.all([other.close(), given.close()]);
  });

  it("closes the store when it is over", async () => {
    const id = await longSession();
    const other = sqlite(path);
    const cleared = other.session(id).clear();
    const closed = other.close();
    await expect(other.session(id).count()).rejects.toMatchObject({ code: "STORE_CLOSED" });
    await Promise.all([cleared, closed]);
    expect(await count(id)).toBe(0);
  });
});

it("a call that fails after some turns of the event loop has changed nothing", async () => {
  const record = { records: { sessionId: "failed", label: "runs" }, key: "none", atVersion: 5 };
  const write = store.writeTogether([{ session: "failed", append: messages }, record]);
  await expect(write).rejects.toMatchObject({ code: "RECORD_CONFLICT" });
  expect(await count("failed")).toBe(0);
  await store.session("failed").append([message("m1")]);
  expect(await count("failed")).toBe(1);
});

it("on a client of the program, a call is over in one turn, so that the program never meets its transaction", async () => {
  const database = openDatabase(path);
  const given = sqlite(database as unknown as SqliteClient);
  await given.migrate();
  const id = await longSession();
  let turns = 0;
  const turn = () => {
    turns += 1;
    expect(database.inTransaction).toBe(false);
  };
  const cleared = given.session(id).clear();
  expect(database.inTransaction).toBe(false);
  setImmediate(turn);
  await cleared;
  expect(await count(id)).toBe(0);
  expect(turns).toBeLessThan(2);
  await given.close();
});
