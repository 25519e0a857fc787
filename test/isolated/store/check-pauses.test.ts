import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { message } from "../../../packages/conformance/src/samples.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { cpuTime } from "../../helpers/cpu-time.js";
import { openDatabase } from "../../store/databases.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-pauses-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MESSAGES = 6000;
/** Of the processor, in milliseconds. */
const MOST = 50;

/** The most that the process worked without serving anyone else, in milliseconds of the processor, and in all. */
async function holdOf(work: () => Promise<unknown>): Promise<{ longest: number; whole: number }> {
  const started = cpuTime();
  let last = started;
  let longest = 0;
  let immediate: NodeJS.Immediate;
  const tick = (): void => {
    longest = Math.max(longest, cpuTime() - last);
    last = cpuTime();
    immediate = setImmediate(tick);
  };
  immediate = setImmediate(tick);
  await work();
  const whole = cpuTime() - started;
  clearImmediate(immediate);
  return { longest: Math.max(longest, cpuTime() - last), whole };
}

function holdOfStatement(path: string, sql: string): Promise<{ longest: number; whole: number }> {
  const database = openDatabase(path);
  return holdOf(async () => {
    const statement = database.prepare(sql);
    if (statement.reader) statement.all();
    else statement.run();
  }).finally(() => database.close());
}

async function fill(store: Store): Promise<void> {
  for (const id of ["long", "other"]) {
    const messages = Array.from({ length: MESSAGES / 2 }, (_, index) => {
      const words = Array.from(
        { length: 40 },
        (_, word) => `w${((index * 7919 + word * word * 31) % 5000).toString(36)}x`,
      );
      return message(`m${index}`, `the ${words.join(" ")}`);
    });
    await store.session(id).append(messages);
  }
}

describe("a check of a file", () => {
  it("lets the process serve others meanwhile, and so does a backup", async () => {
    const path = join(folder, "busy.db");
    const store = sqlite(path, { synchronous: "normal" });
    await fill(store);
    // As it is compiled when it runs for a while.
    await store.check?.();
    // The engine's own look at the file, and its copy of it, are one statement each.
    const integrity = await holdOfStatement(path, "PRAGMA integrity_check");
    const vacuum = await holdOfStatement(path, `VACUUM INTO '${join(folder, "plain.db")}'`);
    const check = await holdOf(async () => expect((await store.check?.())?.ok).toBe(true));
    expect(check.whole).toBeGreaterThan(4 * MOST);
    expect(check.longest).toBeLessThan(MOST + integrity.whole);
    const backup = await holdOf(() => store.backup(join(folder, "copy.db")));
    expect(backup.longest).toBeLessThan(MOST + Math.max(integrity.whole, vacuum.whole));
    await store.close();
  });

  it("lets the process serve others also while they write, and searches index what they wrote", async () => {
    const path = join(folder, "served.db");
    const store = sqlite(path, { synchronous: "normal" });
    await fill(store);
    await store.check?.();
    const integrity = await holdOfStatement(path, "PRAGMA integrity_check");
    let isChecked = false;
    const writing = (async () => {
      for (let write = 0; !isChecked; write += 1) {
        await store.session("other").append([message(`new ${write}`)]);
        await store.search("new", { limit: 1 });
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    })();
    const check = await holdOf(async () => expect((await store.check?.())?.problems).toEqual([]));
    isChecked = true;
    await writing;
    expect(check.longest).toBeLessThan(2 * MOST + integrity.whole);
    await store.close();
  });

  it("finds nothing in what another connection to the file wrote since", async () => {
    const path = join(folder, "other.db");
    const [one, other] = [sqlite(path, { synchronous: "normal" }), sqlite(path, { synchronous: "normal" })];
    await one.session("s").append([message("first", "roses")]);
    await one.search("roses", { limit: 1 });
    for (let round = 0; round < 10; round += 1) {
      expect((await one.check?.())?.problems).toEqual([]);
      for (let index = 0; index < 40; index += 1) {
        await other.session(`s${index}`).append([message(`m${round}-${index}`, `roses ${round} ${index}`)]);
        await other.search("roses", { limit: 1 });
      }
    }
    for (const store of [one, other]) await store.close();
  });

  it("finds nothing in what others write meanwhile, and finds what is wrong", async () => {
    const path = join(folder, "written.db");
    const store = sqlite(path, { synchronous: "normal" });
    await fill(store);
    let isChecked = false;
    let writes = 0;
    const writing = (async () => {
      while (!isChecked) {
        writes += 1;
        await store.session("long").append([message(`late ${writes}`)]);
        await store.session("long").update(message(`m${writes}`, `another ${writes}`));
        await store.session("other").delete([`m${writes}`]);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
    const report = await store.check?.();
    isChecked = true;
    await writing;
    expect(writes).toBeGreaterThan(5);
    expect(report?.problems).toEqual([]);
    const database = openDatabase(path);
    database.prepare("UPDATE assistant_messages SET tokens = tokens + 1 WHERE id = 'm2000'").run();
    database.prepare("DELETE FROM assistant_fts WHERE rowid = (SELECT min(n) FROM assistant_messages)").run();
    database.close();
    const rules = (await store.check?.())?.problems.map(({ rule }) => rule);
    expect(new Set(rules)).toEqual(new Set(["index", "fields"]));
    expect((await store.check?.({ repair: true }))?.ok).toBe(true);
    await store.close();
  });
});
