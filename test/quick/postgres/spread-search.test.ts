import { beforeAll, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import type { SearchHit } from "../../../packages/store/src/contract/store.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

const COLOURS = ["red", "green", "blue"];
const FRUITS = ["apples", "pears", "quinces", "plums"];

describeServer("a search in tables that are spread over servers", (server) => {
  let url: string;

  beforeAll(async () => {
    url = await server.createDatabase();
    const store = postgres(url);
    const manager = SessionManager.create(store);
    for (let session = 0; session < 10; session += 1) {
      const texts = Array.from({ length: 40 }, (_, n) => `${COLOURS[n % 3]} ${FRUITS[(n + session) % 4]} of day ${n}`);
      texts[session] += ", and one medlar, and one medlar more";
      await manager.appendAll(
        `s${session}`,
        texts.map((text, n) => textMessage(`m${n}`, text)),
      );
    }
    await store.close();
  });

  async function searchAll(queries: readonly string[]): Promise<Partial<SearchHit>[][]> {
    const store = postgres(url);
    const manager = SessionManager.create(store);
    const found: Partial<SearchHit>[][] = [];
    for (const query of queries) {
      for (const options of [{}, { sessionIds: ["s3"] }, { sessionIds: ["s1", "s4", "s8"] }]) {
        const hits = await manager.search(query, options);
        found.push(hits.map(({ sessionId, id, score }) => ({ sessionId, id, score })));
      }
    }
    await store.close();
    return found;
  }

  it("finds what one server does by its functions, in the same order", async () => {
    // Words that are rare and in every message, several of both, phrases, and what nothing holds.
    const queries = ["medlar", "day", "red medlar", "medlar of day", '"blue pears"', '"one medlar" plums', "durian"];
    const expected = await searchAll(queries);
    expect(expected.map((hits) => hits.length > 0)).toEqual(expected.map((_, index) => index < 18));
    // A store takes tables to be spread where this is.
    await server.query(url, "CREATE FUNCTION assistant_spread() RETURNS void LANGUAGE sql AS ''");
    expect(await searchAll(queries)).toEqual(expected);
  });
});
