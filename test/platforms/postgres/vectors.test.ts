import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import { postgresVectors } from "../../../packages/postgres/src/search/vectors.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { hashingEmbedder } from "../../../packages/stemma/src/testing.js";
import { describeServer } from "../../postgres/server.js";

const database = new PGlite({ extensions: { vector } });
afterAll(() => database.close());

const embedder = { ...hashingEmbedder({ dimensions: 64 }), minSimilarity: 0.3 };
const texts = ["restaurant", "umbrella", "photograph", "telescope", "harbour"];
const messages = Array.from({ length: 100 }, (_, index) => ({
  id: `m${index}`,
  role: "user",
  parts: [{ type: "text", text: `${texts[index % 5]} ${texts[(index * 3 + 1) % 5]} ${index % 7}` }],
}));

describe("vectors in Postgres", () => {
  it("are compared by pgvector where the database has it, with the same result", async () => {
    const statements: string[] = [];
    const source = new Proxy(database, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (name === "transaction") {
          return (work: (connection: object) => Promise<unknown>) =>
            target.transaction((connection) =>
              work({
                query: (sql: string, values: unknown[]) => {
                  statements.push(sql);
                  return connection.query(sql, values);
                },
              }),
            );
        }
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const inMemory = postgres(source, { schema: "same" }).withEmbedder(embedder);
    await Session.create(inMemory).appendAll(messages);
    await inMemory.embeddings.flush();
    const queries = ["restaurnat", "umbrela photo", "harbour 3"];
    const find = async (store: typeof inMemory, query: string) => {
      const found = await Session.create(store).search(query, { limit: 100 });
      return { first: found[0]?.content, ids: new Set(found.map(({ id }) => id)) };
    };
    const expected = [];
    for (const query of queries) expected.push(await find(inMemory, query));
    expect(statements.some((sql) => sql.includes("<#>"))).toBe(false);
    await database.exec("CREATE EXTENSION vector");
    const inEngine = postgres(source, { schema: "same" }).withEmbedder(embedder);
    for (const [index, query] of queries.entries()) expect(await find(inEngine, query)).toEqual(expected[index]);
    expect(expected[0]?.ids.size).toBeGreaterThan(10);
    expect(statements.some((sql) => sql.includes("<#>"))).toBe(true);
    await inMemory.close();
    await inEngine.close();
  });

  it("keep every number as it is", async () => {
    const bits = Uint32Array.from({ length: 4000 }, (_, index) => Math.imul(index + 1, 2_654_435_761));
    const numbers = [...new Float32Array(bits.buffer), 2 ** -149, 3.4028234663852886e38, 1 / 3, 16777217].filter(
      Number.isFinite,
    );
    const vector = Float32Array.from(numbers);
    const { bound, read, encode, decode } = postgresVectors;
    const select = `SELECT ${read} AS vector FROM (SELECT ${bound[0]?.replace("?", "$1")} AS vector) v`;
    const { rows } = await database.query<{ vector: string }>(select, encode(vector));
    expect(decode(rows[0]?.vector)).toEqual(vector);
  });

  it("have tables that the script makes too, which may be run again", async () => {
    const script = schemaSql({ schema: "script", embeddings: true });
    await database.exec(script);
    await database.exec("CREATE ROLE app; GRANT USAGE ON SCHEMA script TO app");
    await database.exec("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA script TO app; SET ROLE app");
    const store = postgres(database, { schema: "script" }).withEmbedder(embedder);
    await Session.create(store).appendAll(messages.slice(0, 10));
    await store.embeddings.flush();
    expect(await Session.create(store).search("restaurnat")).not.toEqual([]);
    await store.close();
    await database.exec(`RESET ROLE; ${script}`);
    const again = postgres(database, { schema: "script" }).withEmbedder(embedder);
    expect(await again.embeddings.backlog()).toBe(0);
    await again.close();
  });

  it("need a role that may make their tables; without one, search goes by words and says so", async () => {
    await database.exec(schemaSql({ schema: "words" }));
    await database.exec("GRANT USAGE ON SCHEMA words TO app");
    await database.exec("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA words TO app; SET ROLE app");
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const store = postgres(database, { schema: "words" }).withEmbedder({ ...embedder, onError });
    await Session.create(store).appendAll(messages.slice(0, 10));
    expect(await Session.create(store).search("restaurant")).not.toEqual([]);
    expect(errors).toContainEqual(expect.objectContaining({ code: "MIGRATION_REQUIRED" }));
    await expect(store.embeddings.flush()).rejects.toMatchObject({ code: "MIGRATION_REQUIRED" });
    await store.close();
    await database.exec("RESET ROLE");
  });
});

describeServer("vectors in Postgres without pgvector", (server) => {
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const wordOf = (index: number) =>
    Array.from({ length: 7 }, (_, at) => letters[(index * (at + 3) ** 2) % 26]).join("");
  const many = Array.from({ length: 3000 }, (_, index) => ({
    id: `other${index}`,
    role: "user",
    parts: [{ type: "text", text: `${wordOf(index)} ${wordOf(index * 7 + 1)}` }],
  }));

  it("are told apart by their signs, so that a search reads few of them", async () => {
    const pool = new pg.Pool({ connectionString: await server.createDatabase(), max: 1 });
    let read = 0;
    const counted = {
      query: async (text: string, values: unknown[]) => {
        const { rows } = await pool.query(text, values);
        // Such a connection is given rows as JSON.
        read += rows.filter((row) => JSON.stringify(row).includes('\\"vector\\":')).length;
        return { rows };
      },
    };
    const store = postgres(counted).withEmbedder({ ...embedder, batchSize: 500 });
    const session = Session.create(store);
    await session.appendAll([...many, ...messages]);
    await store.embeddings.flush();
    read = 0;
    const found = await session.search("restaurnat", { limit: 20 });
    expect(found.length).toBe(20);
    expect(found.every(({ content }) => content.includes("restaurant"))).toBe(true);
    expect(read).toBeGreaterThan(0);
    // The most alike, and those that tell how alike vectors usually are.
    expect(read).toBeLessThanOrEqual(500 + 512);
    await store.close();
    await pool.end();
  });

  it("are told apart by signs that a prepared statement reads once, and not for each row", async () => {
    const client = new pg.Client(await server.createDatabase());
    await client.connect();
    const sent: { text: string; values: unknown[] }[] = [];
    const recording = new Proxy(client, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...given: unknown[]) => {
          if (name === "query") sent.push(given[0] as { text: string; values: unknown[] });
          return value.apply(target, given);
        };
      },
    });
    const store = postgres(recording).withEmbedder(embedder);
    await Session.create(store).appendAll(messages);
    await store.embeddings.flush();
    await Session.create(store).search("restaurnat");
    await store.close();
    const { text = "", values = [] } = sent.find((each) => each.text?.includes("bit_count")) ?? {};
    await client.query(`SET plan_cache_mode = force_generic_plan; PREPARE likely AS ${text}`);
    const given = values.map((value) => client.escapeLiteral(String(value))).join(", ");
    const { rows } = await client.query(`EXPLAIN (VERBOSE) EXECUTE likely (${given})`);
    const key = rows.map((row) => row["QUERY PLAN"]).find((line) => line.includes("bit_count"));
    expect(key).toContain("signs");
    expect(key).not.toContain("bit varying");
    await client.end();
  });
});
