import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { afterAll, describe, expect, it } from "vitest";
import { postgres, schemaSql } from "../../src/postgres.js";
import { Session } from "../../src/session.js";
import { hashingEmbedder } from "../../src/testing.js";

const database = new PGlite({ extensions: { vector } });
afterAll(() => database.close(), 60_000);

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
