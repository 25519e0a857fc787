import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { expectLinear } from "../../../../../test/helpers/linear.js";
import { textMessage } from "../../../../../test/helpers/messages.js";
import { type Bone, mendParents, pathsOf, readBones } from "../../../src/check/repair-tree.js";
import { rowsOf } from "../../../src/engine/operation.js";
import { openSqlStore } from "../../../src/sql/sql-store.js";
import { connectClient, type SqliteClient } from "../../../src/sqlite/client.js";
import { sqliteDialect } from "../../../src/sqlite/dialect.js";

const NUMBER = "CAST(substr(id, 2) AS INTEGER)";

/**
 * A session in which every message of the second half is the parent of one of the first half, and so stands behind its child. All
 * places before these are free. Gives what mends it in a transaction that is undone, and resolves to how many messages moved.
 */
async function openReversed(length: number): Promise<() => Promise<number>> {
  const database = new Database(":memory:");
  const dialect = sqliteDialect({ name: "sqlite", maxTextBytes: 1e9, search: true, indexesLater: true });
  const connection = connectClient(database as unknown as SqliteClient);
  const { store, runner } = openSqlStore(connection, dialect, { transactions: true, durable: false });
  await store.session("deep").append(Array.from({ length }, (_, index) => textMessage(`m${index}`, "x")));
  const half = length / 2;
  const parent = `iif(${NUMBER} < ${half}, 'm' || (${NUMBER} + ${half}), 'x')`;
  database.exec(`UPDATE assistant_messages SET n = n + ${length}, parent_id = ${parent}`);
  const rows = rowsOf(dialect, "deep", 1);
  return async () => {
    let moved = 0;
    const mend = runner.write(function* () {
      const bones = yield* readBones(rows);
      const places = new Map(bones.map((bone) => [bone, bone.n]));
      yield* mendParents(dialect, rows, bones, []);
      moved = bones.filter((bone) => bone.n !== places.get(bone)).length;
      throw new Error("undone");
    });
    await expect(mend).rejects.toThrow("undone");
    return moved;
  };
}

it("moves 10,000 parents before their children in time that grows linearly", async () => {
  const mends = new Map<number, () => Promise<number>>();
  for (const length of [5000, 20_000]) mends.set(length, await openReversed(length));
  await expectLinear(5000, async (length) => expect(await mends.get(length)?.()).toBe(length / 2));
});

/** A chain of messages, each below the one before it. */
function chain(length: number): Bone[] {
  const bones: Bone[] = [];
  for (let n = 1; n <= length; n += 1)
    bones.push({ n, id: `m${n}`, parent_id: null, branch: 0, parent: bones[n - 2] ?? null });
  return bones;
}

it("tells of 20,000 messages in a chain which are on a path in time that grows linearly", async () => {
  await expectLinear(5000, (length) => {
    const bones = chain(length);
    const isOnPath = pathsOf(bones);
    expect(bones.every((bone) => isOnPath(bones[0] as Bone, bone))).toBe(true);
  });
});

it("tells which messages of a tree with two roots are on a path", () => {
  const [root, left, right, leaf, other] = chain(5) as [Bone, Bone, Bone, Bone, Bone];
  right.parent = root;
  leaf.parent = left;
  other.parent = null;
  const bones = [root, left, right, leaf, other];
  const isOnPath = pathsOf(bones);
  const below = (from: Bone) => bones.filter((to) => isOnPath(from, to));
  expect(below(root)).toEqual([root, left, right, leaf]);
  expect(below(left)).toEqual([left, leaf]);
  expect(below(right)).toEqual([right]);
  expect(below(other)).toEqual([other]);
});
