import { message } from "../../packages/conformance/src/samples.js";
import { Session, SessionManager } from "../../packages/stemma/src/session.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import type { Row } from "../tools/row.js";
import { query } from "../tools/stores.js";

/** How databases are made, after `ENCODING 'UTF8'`. */
const MADE = [
  "LC_COLLATE 'C' LC_CTYPE 'C'",
  "LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'",
  "LOCALE_PROVIDER icu ICU_LOCALE 'de-DE-u-co-phonebk'",
  "LOCALE_PROVIDER icu ICU_LOCALE 'und-u-ks-level1-kn-true-ka-shifted'",
];

/** What their owner set for whoever connects. */
const SET = [
  "datestyle = 'SQL, DMY'",
  "datestyle = 'SQL, MDY'",
  "datestyle = 'German, DMY'",
  "datestyle = 'Postgres, DMY'",
  "timezone = 'Asia/Kathmandu'",
  "timezone = 'America/St_Johns'",
  "intervalstyle = 'sql_standard'",
  "client_encoding = 'LATIN1'",
  "bytea_output = 'escape'",
  "standard_conforming_strings = off",
  "backslash_quote = off",
  "array_nulls = off",
  "transform_null_equals = on",
  "extra_float_digits = 0",
  "default_transaction_isolation = 'serializable'",
  "default_transaction_isolation = 'repeatable read'",
  "default_transaction_deferrable = on",
  "search_path = extra, public",
  "statement_timeout = '30s'",
  "lock_timeout = '30s'",
  "idle_in_transaction_session_timeout = '30s'",
  "idle_session_timeout = '30s'",
  "quote_all_identifiers = on",
  "plan_cache_mode = 'force_generic_plan'",
  "enable_indexscan = off",
  "row_security = off",
  "synchronous_commit = off",
  "client_min_messages = 'debug1'",
];

const TEXT = "red apples\\ 'x' äß漢 🙂 İstanbul";

/** The same calls in databases with other settings show the same as in one with none. */
export const databaseSettings: Row = {
  number: 32,
  title: `${MADE.length + SET.length} Postgres databases with other date styles, time zones, locales, forms of texts and bytes, isolations, timeouts and search paths; {size} sessions in each`,
  target: "0 show anything else than one without settings",
  sizes: { Postgres: [50, 1] },
  async run({ place, open, postgres, size }) {
    const shownIn = async (settings: { made?: string; set?: string }): Promise<string> => {
      const url = await place();
      const name = new URL(url).pathname.slice(1);
      const { made, set } = settings;
      if (made !== undefined) {
        await query(postgres, `DROP DATABASE ${name}`);
        await query(postgres, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' ${made}`);
      }
      await query(url, "CREATE SCHEMA extra");
      if (set !== undefined) await query(postgres, `ALTER DATABASE ${name} SET ${set}`);
      const store = open(url);
      try {
        return await use(store, size);
      } catch (error) {
        return String(error);
      } finally {
        await store.close();
      }
    };
    const expected = await shownIn({});
    const others = [...MADE.map((made) => ({ made })), ...SET.map((set) => ({ set }))];
    const different: unknown[] = [];
    for (const settings of others) {
      const shown = await shownIn(settings);
      if (shown !== expected)
        different.push({ settings, shown: shown.slice(0, 2000), expected: expected.slice(0, 2000) });
    }
    const figure = `${different.length} of ${others.length} show something else`;
    return { figure, met: different.length === 0, details: different };
  },
};

/** Every kind of write and read. Gives what they show, without what is another in each run. */
async function use(store: Store, size: number): Promise<string> {
  const manager = SessionManager.create(store).withContext("memory");
  const since = Date.now() - 1000;
  const until = since + 600_000;
  const shown: unknown[] = [];
  const time = (text: unknown) => {
    const at = new Date(text as string).getTime();
    return at >= since && at < until ? "now" : text;
  };
  for (let n = 0; n < size; n += 1) {
    const id = `s${n} ı"İ'\\`;
    await manager.create(`${TEXT} ${n}`, { id, userId: `u${n % 2}`, metadata: { n, text: TEXT, none: null } });
    const session = manager.getSession(id);
    await session.appendAll([message("a", TEXT), message("b", "green pears")]);
    await session.appendMessage(message("c", "yellow lemons"), "a");
    await session.addCompaction(TEXT, "a", "a");
    await session.replaceContextBlock("memory", TEXT);
    await session.replaceContextBlock("memory", `${TEXT} again`);
    await store.entries.set({ sessionId: id, label: "e" }, { key: "k_%\\", content: TEXT });
    const bytes = new Uint8Array([0, 255, 92, 39, 10]);
    await store.records.set({ sessionId: id, label: "l" }, "Zz", bytes, { expiresAt: until });
    await store.records.set({ sessionId: id, label: "l" }, "aa", bytes, { expiresAt: since });
    await store.records.set({ sessionId: id, label: "l" }, "aB", bytes);
    await manager.addUsage(id, 3, 4, 0.25, "m");
    await manager.fork(id, "b", "copy", { id: `copy ${id}` });
    shown.push(
      await session.getHistory(),
      (await session.getTree()).map(({ createdAt, ...node }) => [node, time(createdAt)]),
      (await session.getCompactions()).map(({ summary, createdAt }) => [summary, time(createdAt)]),
      (await session.getBlockHistory("memory")).map(({ content, writtenAt }) => [content, time(writtenAt)]),
      (await session.search("PEAR", { after: new Date(since), before: new Date(until) })).map(({ id: hit }) => hit),
      (await session.search("istanbul")).map(({ id: hit }) => hit),
      await session.search("pear", { before: new Date(since) }),
      (await store.records.list({ sessionId: id, label: "l" })).map(({ key, value }) => [key, [...value]]),
      (await store.entries.list({ sessionId: id, label: "e" }, { prefix: "k_%" })).map(({ key, content }) => [
        key,
        content,
      ]),
      await store.sessions.usage({ by: "session", sessionId: id }),
    );
    await session.deleteMessages(["a"]);
    shown.push((await Session.create(store).forSession(id).getHistory()).map(({ id: left }) => left));
  }
  for (let cursor: string | undefined; ; ) {
    const page = await manager.listPage({ limit: 4, cursor });
    shown.push(page.sessions.map(({ created_at, updated_at, ...info }) => [info, time(created_at), time(updated_at)]));
    if (page.nextCursor === null) break;
    cursor = page.nextCursor;
  }
  shown.push((await manager.listPage({ metadata: { n: 1 } })).sessions.map(({ id }) => id));
  shown.push((await store.check?.({ repair: true }))?.problems);
  return JSON.stringify(shown).replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "an id");
}
