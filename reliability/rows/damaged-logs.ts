import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { message } from "../../packages/conformance/src/samples.js";
import { Session } from "../../packages/stemma/src/session.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { Random } from "../tools/random.js";
import type { Row } from "../tools/row.js";

const MESSAGES = 60;

/** A database with a write-ahead log of 60 appends, and how long the log was after each of them. */
async function makeImage(folder: string) {
  const path = join(folder, "whole.db");
  const database = new Database(path);
  for (const pragma of ["journal_mode = WAL", "wal_autocheckpoint = 0"]) database.pragma(pragma);
  const store = sqlite(database);
  await store.migrate();
  database.pragma("wal_checkpoint(TRUNCATE)");
  const lengths: number[] = [];
  for (let index = 0; index < MESSAGES; index += 1) {
    await Session.create(store).appendMessage(message(`m${index}`, `text ${index} `.repeat(1 + (index % 40))));
    lengths.push(statSync(`${path}-wal`).size);
  }
  const [main, log] = [`${path}.copy`, readFileSync(`${path}-wal`)];
  copyFileSync(path, main);
  await store.close();
  return { main, log, lengths };
}

export const damagedLogs: Row = {
  number: 3,
  title: "{size} write-ahead logs, cut anywhere or with flipped bits",
  target: "0 bad opens: what was committed before the damage is there, in order",
  sizes: { SQLite: [10_000, 75] },
  async run({ folder, size }) {
    const { main, log, lengths } = await makeImage(folder);
    const path = join(folder, "damaged.db");
    const bad: string[] = [];
    for (let seed = 0; seed < size; seed += 1) {
      const random = new Random(seed);
      let at = random.below(log.length);
      let image = Buffer.from(log);
      if (seed % 2 === 0) image = image.subarray(0, at);
      else
        for (let flips = 1 + random.below(4); flips > 0; flips -= 1) {
          const byte = random.below(log.length);
          image[byte] = (image[byte] as number) ^ (1 << random.below(8));
          at = flips === 1 && at > byte ? byte : Math.min(at, byte);
        }
      copyFileSync(main, path);
      writeFileSync(`${path}-wal`, image);
      const store = sqlite(path);
      try {
        const ids = (await Session.create(store).getHistory()).map(({ id }) => id);
        const isPrefix = ids.every((id, index) => id === `m${index}`);
        const whole = lengths.filter((length) => length <= at).length;
        const problems = (await store.check?.())?.problems ?? [];
        if (!isPrefix || ids.length < whole || problems.length > 0) bad.push(`seed ${seed}: ${ids.length} of ${whole}`);
        await Session.create(store).appendMessage(message("after"));
      } catch (error) {
        bad.push(`seed ${seed}: ${error}`);
      } finally {
        await store.close();
        for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
      }
    }
    return { figure: `${bad.length} bad opens`, met: bad.length === 0, details: bad.slice(0, 5) };
  },
};
