import { beforeAll, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { SPAN } from "../../../packages/store/src/operations/registry/session-head.js";
import { describeServer } from "../../postgres/server.js";

const MESSAGES = 120_000;
const LONG = 24_000;
const MIDDLE = 8_000;
const SHORT = MESSAGES - LONG - MIDDLE;

/**
 * What the index has of message `k`. The two long sessions are the last ones: each message says "fine", those of others "weather" too,
 * but of the long ones only every hundredth does.
 */
const FILL = `INSERT INTO assistant_fts (session_id, n, length, terms)
  SELECT id, no * ${SPAN} + k, cardinality(terms), terms FROM (
    SELECT k, CASE WHEN k > ${MESSAGES - LONG} THEN 'long' WHEN k > ${SHORT} THEN 'middle' ELSE 's' || k / 20 END AS id,
      CASE WHEN k > ${MESSAGES - LONG} THEN 900002 WHEN k > ${SHORT} THEN 900001 ELSE k / 20 END::BIGINT AS no,
      array_remove(ARRAY['fine', CASE WHEN k <= ${SHORT} OR k % 100 = 0 THEN 'weather' END, CASE WHEN hashint4(k) % 32 = 0 THEN 'evenly' END,
        CASE WHEN k <= 3000 THEN 'ancient' END, CASE WHEN k % 400 = 0 THEN 'seldom' END, CASE WHEN k % 4000 = 0 THEN 'quokka' END], NULL)
        || ARRAY(SELECT 'word' || k % 977 || 'of' || w FROM generate_series(1, 12) AS w) AS terms
    FROM generate_series(1, ${MESSAGES}) AS k) AS given ORDER BY k`;

describeServer("on Postgres, with 120,000 messages, many of them in two sessions", (server) => {
  let url: string;

  beforeAll(async () => {
    url = await server.createDatabase();
    const store = postgres(url);
    await store.migrate();
    await store.close();
    await server.query(url, "ALTER TABLE assistant_fts SET (autovacuum_enabled = off)");
    await server.query(url, FILL);
  });

  async function rowsRead() {
    const query = "SELECT idx_tup_fetch::int AS rows FROM pg_stat_user_tables WHERE relname = 'assistant_fts'";
    return (await server.query(url, query))[0]?.rows as number;
  }

  /** How many messages hold each of some words, as a search counts them, and how many rows of the index it reads for that. */
  async function search(scope: string | readonly string[] | null, words: string[]) {
    await server.query(url, "SELECT pg_stat_reset()");
    const ids = scope === null ? "NULL" : `'{${[scope].flat().join(",")}}'`;
    const list = words.map((each) => `"{${each.replace(" ", ",")}}"`).join(",");
    const query = `SELECT matches::json->'documents' AS documents FROM assistant_matches(${ids}, NULL, NULL, '{${list}}', 250, 0)`;
    const [row] = await server.query(url, query);
    await expect.poll(rowsRead).toBeGreaterThan(0);
    return { documents: row?.documents as number[], rows: await rowsRead() };
  }

  /** Without statistics, and with them. */
  async function twice(check: () => Promise<void>) {
    await server.query(url, "DELETE FROM pg_statistic WHERE starelid = 'assistant_fts'::regclass");
    await check();
    await server.query(url, "ANALYZE assistant_fts");
    await check();
  }

  it("a search in a session reads no more than that, however many messages of others hold the words", async () => {
    const check = async (session: string, size: number) => {
      const searches = [["weather"], ["fine"], ["seldom", "weather"], ["quokka", "weather", "fine"], ["fine weather"]];
      for (const words of searches) {
        const { rows } = await search(session, words);
        expect({ session, words, many: rows > (words.length + 0.5) * size + 5_000 }).toMatchObject({ many: false });
      }
      expect((await search(session, ["seldom", "weather"])).documents).toEqual([size / 400, size / 100]);
      expect((await search(session, ["quokka", "fine weather"])).documents).toEqual([size / 4_000, size / 100]);
    };
    await twice(async () => {
      await check("middle", MIDDLE);
      await check("long", LONG);
    });
  });

  it("a search of some sessions reads no more than those", async () => {
    const some = Array.from({ length: 20 }, (_, index) => `s${7 + 200 * index}`);
    await twice(async () => {
      for (const words of [["weather"], ["fine weather"], ["fine", "evenly", "weather"], ["seldom", "fine"]]) {
        const { documents, rows } = await search(some, words);
        expect({ words, many: rows > 4 * 20 * some.length }).toMatchObject({ many: false });
        expect(documents[words.indexOf("fine")] ?? 400).toBe(400);
      }
      const { documents, rows } = await search(["middle", "long", ...some], ["quokka", "weather"]);
      expect(documents).toEqual([(MIDDLE + LONG) / 4_000, (MIDDLE + LONG) / 100 + 400]);
      expect(rows).toBeLessThan(4 * (MIDDLE + LONG));
    });
  });

  it("a search beside a rarer word reads the newest messages of one that thousands hold, and all where those do not hold it", async () => {
    await twice(async () => {
      const evenly = await search(null, ["seldom", "evenly"]);
      expect(evenly.documents[0]).toBe(MESSAGES / 400);
      expect(Math.abs((evenly.documents[1] as number) / (MESSAGES / 32) - 1)).toBeLessThan(0.3);
      // About so many at first, and as many of the newest, of which every 32nd holds it.
      expect(evenly.rows).toBeLessThan(300 + 1_000 + 50 * 32 + 400);
      expect((await search(null, ["seldom", "ancient"])).documents).toEqual([MESSAGES / 400, 3_000]);
    });
  });
});
