import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { sqlite } from "../../src/sqlite.js";
import type { Store } from "../../src/storage/contract.js";
import { message } from "../../src/testing/samples.js";
import { openDatabase } from "./databases.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-pauses-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MESSAGES = 6000;
/** Of the processor, in milliseconds. */
const MOST = 50;

const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

/** The most that the process worked without serving anyone else, in milliseconds of the processor, and in all. */
async function holdOf(work: () => Promise<unknown>): Promise<{ longest: number; whole: number }> {
  const started = cpu();
  let last = started;
  let longest = 0;
  let immediate: NodeJS.Immediate;
  const tick = (): void => {
    longest = Math.max(longest, cpu() - last);
    last = cpu();
    immediate = setImmediate(tick);
  };
  immediate = setImmediate(tick);
  await work();
  const whole = cpu() - started;
  clearImmediate(immediate);
  return { longest: Math.max(longest, cpu() - last), whole };
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
    const database = openDatabase(path);
    const integrity = await holdOf(async () => void database.prepare("PRAGMA integrity_check").all());
    const vacuum = await holdOf(async () => void database.prepare("VACUUM INTO ?").run(join(folder, "plain.db")));
    database.close();
    const check = await holdOf(async () => expect((await store.check?.())?.ok).toBe(true));
    expect(check.whole).toBeGreaterThan(4 * MOST);
    expect(check.longest).toBeLessThan(MOST + integrity.whole);
    const backup = await holdOf(() => store.backup(join(folder, "copy.db")));
    expect(backup.longest).toBeLessThan(MOST + Math.max(integrity.whole, vacuum.whole));
    await store.close();
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
