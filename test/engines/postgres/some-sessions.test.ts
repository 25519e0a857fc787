import { beforeEach, describe, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

describeServer("a search of some sessions on Postgres", (server) => {
  let url: string;
  let store: Store;

  beforeEach(async () => {
    url = await server.createDatabase();
    store = postgres(url);
    const manager = SessionManager.create(store);
    for (let session = 0; session < 60; session += 1) {
      const texts = Array.from({ length: 10 }, (_, index) => textMessage(`m${index}`, `The weather of day ${index}`));
      await manager.appendAll(`s${session}`, texts);
    }
    return () => store.close();
  });

  async function scansOf(index: string) {
    const query = `SELECT idx_scan::int AS scans FROM pg_stat_user_indexes WHERE indexrelname = '${index}'`;
    return (await server.query(url, query))[0]?.scans;
  }

  it("does not go through the messages of others", async () => {
    // What it read is told by then.
    await store.close();
    for (const before of ["SELECT", "ANALYZE"]) {
      await server.query(url, before);
      for (const words of ["{weather}", "{3}", "{weather},{dai}", "{dai,3}"]) {
        await server.query(url, "SELECT pg_stat_reset()");
        const list = words.replaceAll(/\{.*?\}/g, '"$&"');
        await server.query(
          url,
          `SELECT matches FROM assistant_matches('{s3,s20,s40,s50}', NULL, NULL, '{${list}}', 250, 0)`,
        );
        await expect.poll(() => scansOf("assistant_fts_of_session")).toBeGreaterThan(0);
        expect([before, words, await scansOf("assistant_fts_pkey")]).toEqual([before, words, 0]);
      }
    }
  });

  describe("where there are very many", () => {
    beforeEach(async () => {
      await server.query(
        url,
        `ALTER TABLE assistant_sessions SET (autovacuum_enabled = off);
         INSERT INTO assistant_sessions (id, no, name, created_at, updated_at)
           SELECT 'more ' || k, 1000 + k, '', now(), now() FROM generate_series(1, 15000) AS k
           ON CONFLICT DO NOTHING;
         UPDATE assistant_sessions SET user_id = 'ada' WHERE id <> 's7' AND (id LIKE 's%' OR no BETWEEN 1001 AND 6000)`,
      );
    });

    it("finds what those of a user hold", async () => {
      const hits = await store.forUser("ada").search("3", { limit: 100 });
      expect(hits).toHaveLength(59);
      expect(hits.map(({ sessionId }) => sessionId)).not.toContain("s7");
    });

    it("is not slowed down by the number of ids", async () => {
      const sessionIds = ["s3", "s7", ...Array.from({ length: 4_900 }, (_, index) => `more ${index * 3 + 1}`)];
      for (const prepare of [true, false]) {
        const other = postgres(url, { prepare });
        for (const before of ["SELECT", "ANALYZE"]) {
          await server.query(url, before);
          for (const [userId, found] of [
            [undefined, 2],
            ["ada", 1],
          ] as const) {
            const times: number[] = [];
            for (let run = 0; run < 7; run += 1) {
              const start = performance.now();
              expect(await other.search("3", { limit: 5, sessionIds, userId })).toHaveLength(found);
              times.push(performance.now() - start);
            }
            // Comparing each session with each id takes seconds. A busy machine may stop for one.
            expect(times.sort((a, b) => a - b)[3]).toBeLessThan(1_500);
          }
        }
        await other.close();
      }
    });
  });
});
