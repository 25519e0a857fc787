import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { Session } from "../../../packages/stemma/src/session.js";
import type { CheckReport, Store } from "../../../packages/store/src/contract/store.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { isStandIn } from "../../runtimes/stand-in.js";

const DAMAGES: readonly [string, string][] = [
  ["a document of another length", "UPDATE assistant_fts_docsize SET sz = x'07' WHERE id % 2 = 0"],
  ["a length that is no number", "UPDATE assistant_fts_docsize SET sz = x'81'"],
  ["a document without a length", "DELETE FROM assistant_fts_docsize WHERE id % 3 = 0"],
  ["an average that is no number", "UPDATE assistant_fts_data SET block = x'ffff' WHERE id = 1"],
  ["no average", "UPDATE assistant_fts_data SET block = x'' WHERE id = 1"],
  ["a page that is no page", "UPDATE assistant_fts_data SET block = x'00' WHERE id > 10"],
  ["no way to its pages", "UPDATE assistant_fts_idx SET pgno = pgno + 64"],
  ["no structure", "UPDATE assistant_fts_data SET block = x'0000' WHERE id = 10"],
];

const texts = ["a garden with roses", "the roses are red", "nothing of that kind", "roses, and more roses than before"];

async function fill(store: Store): Promise<void> {
  const session = Session.create(store).forSession("one");
  for (let index = 0; index < 12; index += 1) {
    const text = `${texts[index % texts.length]} ${index}`;
    await session.appendMessage({ id: `m${index}`, role: "user", parts: [{ type: "text", text }] });
  }
  await session.deleteMessages(["m3"]);
}

// node:sqlite lets nobody write to an index's own tables.
describe.skipIf(isStandIn)("a search index with", () => {
  it.each(DAMAGES)("%s is found by a check, and made anew", async (_title, damage) => {
    const database = new Database(":memory:");
    const store = sqlite(database);
    await fill(store);
    const search = async () => (await Session.create(store).forSession("one").search("roses more")).map(({ id }) => id);
    const before = await search();
    expect(await store.check?.()).toMatchObject({ ok: true, problems: [] });
    database.unsafeMode(true);
    expect(database.prepare(damage).run().changes).toBeGreaterThan(0);
    // The pages that the connection has read are kept by it.
    const other = sqlite(new Database(database.serialize()));
    expect(await other.check?.()).toMatchObject({ ok: false, repaired: 0 });
    const report = (await other.check?.({ repair: true })) as CheckReport;
    expect(report.problems.filter(({ repaired }) => !repaired)).toEqual([]);
    expect(await other.check?.()).toMatchObject({ ok: true, problems: [] });
    expect((await Session.create(other).forSession("one").search("roses more")).map(({ id }) => id)).toEqual(before);
    await other.close();
  });
});
