// One feature: which vectors a search finds among many. Its parts share vectors whose nearest are known.
import type { Database } from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import type { EmbeddableStore, EmbeddedStore } from "../../../packages/store/src/embeddings/contract.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { longestHold } from "../../helpers/longest-hold.js";
import { textMessage } from "../../helpers/messages.js";
import { patience } from "../../helpers/patience.js";
import { describeServer } from "../../postgres/server.js";
import { openDatabase } from "../../store/databases.js";

const OWN = 4000;
const IN_SESSION = 40;
const CENTRES = 200;

/** Vectors around centres; "message 7" and "query 7" name one, others have one of their own. */
function seeded(dimensions: number, id = "seeded") {
  const around = (centre: number, seed: number, noise: number): Float32Array => {
    const [a, b] = [numbers(centre + 1), numbers(seed + 1e6)];
    return unit(Float32Array.from({ length: dimensions }, () => a() + noise * b()));
  };
  const vectorOf = (text: string): Float32Array => {
    const [, kind = "", index = "0"] = /(\w+) (\d+)$/.exec(text) ?? [];
    const at = Number(index);
    return around(at % CENTRES, at + kind.length * 1e5, kind === "query" ? 0.7 : 0.6);
  };
  const embed = async (texts: string[]) => texts.map((text) => Array.from(vectorOf(text)));
  return { vectorOf, embedder: { id, dimensions, batchSize: 500, weights: { words: 0 }, minSimilarity: -1, embed } };
}

// Between -1 and 1.
function numbers(seed: number): () => number {
  let state = Math.imul(seed, 2_654_435_761) >>> 0;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return vector.map((x) => x / length);
}

const similarity = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, at) => sum + x * (b[at] as number), 0);

async function append(store: EmbeddedStore, user: string, count: number, kind = "message"): Promise<void> {
  const manager = SessionManager.create(store.forUser(user));
  for (let start = 0; start < count; start += IN_SESSION) {
    const messages = Array.from({ length: IN_SESSION }, (_, at) =>
      textMessage(`m${start + at}`, `${kind} ${start + at}`),
    );
    await manager.appendAll(`${user} ${start / IN_SESSION}`, messages);
  }
}

const found = async (store: EmbeddedStore, query: number) =>
  // The mean of some similarities depends on the order of their sum, in the last digits.
  (await SessionManager.create(store.forUser("ada")).search(`query ${query}`, { limit: 10 })).map(
    ({ id, score }) => [id, score.toFixed(9)] as const,
  );

async function expectNearest(store: EmbeddedStore, { vectorOf }: ReturnType<typeof seeded>): Promise<void> {
  const vectors = Array.from({ length: OWN }, (_, at) => ({ id: `m${at}`, vector: vectorOf(`message ${at}`) }));
  let shares = 0;
  for (let query = 0; query < 20; query += 1) {
    const wanted = vectorOf(`query ${query}`);
    const exact = vectors
      .map(({ id, vector }) => ({ id, score: similarity(wanted, vector) }))
      .sort((a, b) => b.score - a.score)
      .slice(0, 10);
    const ids = new Set((await found(store, query)).map(([id]) => id));
    shares += exact.filter(({ id }) => ids.has(id)).length / 10;
  }
  expect(shares / 20).toBeGreaterThanOrEqual(0.98);
}

/** Of another user, before and after and between those of the first. */
async function expectSameAmongOthers(store: EmbeddableStore, alone: EmbeddableStore, before = () => {}): Promise<void> {
  const { embedder } = seeded(96);
  const [among, only] = [store.withEmbedder(embedder), alone.withEmbedder(embedder)];
  await append(among, "bob", 1000, "other");
  for (const each of [among, only]) await append(each, "ada", 1000);
  await append(among, "eve", 2000, "query");
  for (const each of [among, only]) await each.embeddings.flush();
  before();
  for (let query = 0; query < 5; query += 1) expect(await found(among, query)).toEqual(await found(only, query));
}

interface Read {
  readonly sql: string;
  readonly rows: number;
  readonly characters: number;
}

/** The same database, which notes what is read of it. */
function watched(database: Database, reads: Read[]): Database {
  const wrap = (statement: object, sql: string): object =>
    new Proxy(statement, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...values: unknown[]) => {
          const result = value.apply(target, values);
          if (result === target) return wrap(target, sql);
          if (name !== "all") return result;
          const characters = result
            .flat()
            .reduce((sum: number, x: unknown) => sum + (typeof x === "string" ? x.length : 0), 0);
          reads.push({ sql, rows: result.length, characters });
          return result;
        };
      },
    });
  return new Proxy(database, {
    get(target, name) {
      if (name === "prepare") return (sql: string) => wrap(target.prepare(sql), sql);
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describe("the nearest of many vectors in SQLite", () => {
  it("are those that all vectors compared would give", async () => {
    const of = seeded(96);
    const store = sqlite(openDatabase()).withEmbedder(of.embedder);
    await append(store, "ada", OWN);
    await store.embeddings.flush();
    await expectNearest(store, of);
    await store.close();
  });

  it("are the same whatever others have, and as much is read for them", async () => {
    const reads: Record<"among" | "alone", Read[]> = { among: [], alone: [] };
    const [among, alone] = [openDatabase(), openDatabase()];
    const stores = [sqlite(watched(among, reads.among)), sqlite(watched(alone, reads.alone))] as const;
    await expectSameAmongOthers(...stores, () => {
      reads.among.length = reads.alone.length = 0;
    });
    const ofVectors = (list: Read[]) => list.filter(({ sql }) => /^SELECT [pv]\.(pack|n), /.test(sql));
    expect(ofVectors(reads.among).map(({ rows }) => rows)).toEqual(ofVectors(reads.alone).map(({ rows }) => rows));
    expect(ofVectors(reads.alone).length).toBeGreaterThanOrEqual(10);
  });

  it("are looked for in pieces, which are small and between which the event loop runs", async () => {
    const reads: Read[] = [];
    const of = seeded(1536);
    const store = sqlite(watched(openDatabase(), reads)).withEmbedder(of.embedder);
    await append(store, "ada", OWN);
    await store.embeddings.flush();
    await found(store, 1);
    reads.length = 0;
    const held = await longestHold(() => found(store, 2));
    expect(held).toBeLessThan(patience(150));
    // The first place of a session is blank.
    const signs = reads.filter(({ sql }) => sql.includes("assistant_vector_signs"));
    expect(signs.reduce((sum, { characters }) => sum + characters, 0)).toBe((OWN + OWN / IN_SESSION) * (1536 / 6));
    for (const { characters } of signs) expect(characters).toBeLessThanOrEqual(820_000);
    for (const { rows } of reads) expect(rows).toBeLessThanOrEqual(500);
    await store.close();
  });

  it("are those of the present model, also of another number of dimensions", async () => {
    const database = openDatabase();
    const [before, after] = [seeded(48, "before"), seeded(96, "after")];
    const first = sqlite(database).withEmbedder(before.embedder);
    await append(first, "ada", OWN);
    await first.embeddings.flush();
    const second = sqlite(database).withEmbedder(after.embedder);
    await second.embeddings.flush();
    await expectNearest(second, after);
    expect(await second.check?.()).toMatchObject({ ok: true });
    const lengths = "SELECT DISTINCT length(replace(signs, ' ', '')) % 16 FROM assistant_vector_signs";
    expect(database.prepare(lengths).pluck().all()).toEqual([0]);
  });

  it("have their signs in packs that follow whatever is written, and that a check compares", async () => {
    const database = openDatabase();
    const plain = sqlite(database);
    const store = plain.withEmbedder(seeded(48).embedder);
    await append(store, "ada", 200);
    await append(store, "bob", 200);
    const facts = { sessionId: "ada 0", label: "facts" };
    await store.entries.set(facts, { key: "a", content: "fact 1" });
    await store.entries.set(facts, { key: "b", content: "fact 2" });
    await store.embeddings.flush();
    const packs = () =>
      database.prepare("SELECT * FROM assistant_vector_signs ORDER BY pack").all() as { signs: string }[];
    const held = () => packs().reduce((sum, { signs }) => sum + signs.replaceAll(" ", "").length / 8, 0);
    expect(held()).toBe(400);
    const manager = SessionManager.create(plain);
    const expectRight = async (vectors: number) => {
      expect(held()).toBe(vectors);
      expect(await plain.check?.()).toMatchObject({ ok: true, problems: [] });
    };
    await manager.getSession("ada 0").deleteMessages(["m3", "m39"]);
    await expectRight(398);
    await manager.getSession("ada 1").updateMessage(textMessage("m41", "message 999"));
    await expectRight(397);
    await manager.delete("ada 2");
    await expectRight(357);
    await manager.fork("ada 1", "m60", "fork");
    await store.embeddings.flush();
    await expectRight(357 + 1 + 21);
    await plain.entries.delete(facts, "a");
    await plain.entries.set(facts, { key: "b", content: "fact 3" });
    expect(database.prepare("SELECT * FROM assistant_entry_vector_signs").all()).toEqual([]);
    await store.embeddings.flush();
    await expectRight(379);

    const right = packs();
    database.exec("UPDATE assistant_vector_signs SET signs = replace(signs, '4', 'x') WHERE pack % 3 = 0");
    database.exec("DELETE FROM assistant_vector_signs WHERE pack = (SELECT max(pack) FROM assistant_vector_signs)");
    const { problems = [] } = (await plain.check?.()) ?? {};
    expect(problems.length).toBeGreaterThan(1);
    expect(problems[0]).toMatchObject({ rule: "vector", table: "assistant_vector_signs" });
    expect(await plain.check?.({ repair: true })).toMatchObject({ ok: true });
    expect(packs()).toEqual(right);
    await store.close();
  });
});

describeServer("the nearest of many vectors in Postgres", (server) => {
  it("are those that all vectors compared would give, also behind another model", async () => {
    const url = await server.createDatabase();
    const [before, after] = [seeded(48, "before"), seeded(96, "after")];
    const first = postgres(url).withEmbedder(before.embedder);
    await append(first, "ada", OWN);
    await first.embeddings.flush();
    await first.close();
    const second = postgres(url).withEmbedder(after.embedder);
    await second.embeddings.flush();
    await expectNearest(second, after);
    await second.close();
  });

  it("are the same whatever others have", async () => {
    const [among, alone] = [postgres(await server.createDatabase()), postgres(await server.createDatabase())];
    await expectSameAmongOthers(among, alone);
    for (const each of [among, alone]) await each.close();
  });
});
