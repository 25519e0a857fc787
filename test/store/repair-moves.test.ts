import { expect, it } from "vitest";
import { sqlite } from "../../src/sqlite.js";
import { textMessage } from "../helpers/messages.js";
import { openDatabase } from "./databases.js";

it("repairs in linear time where thousands of rows name parents behind them, and no place before them is free", async () => {
  const database = openDatabase();
  const store = sqlite(database);
  const size = 12_000;
  const ids = Array.from({ length: 2 * size }, (_, index) => `m${String(index).padStart(6, "0")}`);
  await store.session("s").append(ids.map((id) => textMessage(id, "hello")));
  // The first half hangs below the second, whose rows hang below nothing.
  database.exec(`UPDATE assistant_messages SET parent_id = NULL WHERE id >= 'm${String(size).padStart(6, "0")}'`);
  database.exec(`UPDATE assistant_messages SET parent_id = 'm' || substr('000000' || (substr(id, 2) + ${size}), -6)
    WHERE id < 'm${String(size).padStart(6, "0")}'`);
  const begun = performance.now();
  const report = await store.check?.({ repair: true });
  expect(report?.ok).toBe(true);
  expect(await store.session("s").count()).toBe(2 * size);
  expect(performance.now() - begun).toBeLessThan(6_000);
}, 60_000);
