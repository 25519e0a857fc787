import { expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import type { EntryScope, ListedEntry } from "../../../packages/store/src/contract/store.js";
import { openPool } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";

const ROUNDS = 200;

describeServer("chains of facts on Postgres", (server) => {
  it(`end whole, and nobody fails, where two removals and a write meet in ${ROUNDS} of them`, async () => {
    // Calls of one client wait for each other: these do not.
    const pools = [openPool(server.url), openPool(server.url), openPool(server.url)] as const;
    const stores = pools.map(({ source }) => postgres(source));
    const [one, two, three] = stores.map(({ entries }) => entries) as [Entries, Entries, Entries];
    const deadlocks = async () => {
      const counted = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
      return Number((await server.query(server.url, counted))[0]?.deadlocks);
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      const facts: EntryScope = { sessionId: "", label: `facts ${round}`, scope: { key: "team" } };
      const write = (entries: Entries, key: string, year: number, supersedes: string[]) =>
        entries.set(facts, { key, content: `lives in ${key}`, validFrom: `${year}-01-01`, supersedes });
      await write(one, "a", 2010, []);
      await write(one, "b", 2015, ["a"]);
      await write(one, "c", 2020, ["b"]);
      const writes = [
        () => write(three, "d", 2024, ["c", "a"]),
        () => write(three, "b", 2016, ["a"]),
        () => write(three, "c", 2021, ["b", "a"]),
        () =>
          three.set(facts, { key: "z", content: "lived in z", validFrom: "2012-01-01" }, { supersededBy: ["c", "b"] }),
      ];
      const met = [
        () => one.delete(facts, "b"),
        () => two.delete(facts, round % 2 === 0 ? "c" : "a"),
        writes[round % 4],
      ];
      const ended = await Promise.allSettled(met.map((work) => work?.()));
      // A successor that was removed just before cannot be named.
      const codes = ended.flatMap((each) => (each.status === "rejected" ? [each.reason.code] : []));
      expect(codes.filter((code) => code !== "INVALID_ARGUMENT")).toEqual([]);
      const all = await one.list(facts, { includeEnded: true });
      expect([round, strayLinks(all)]).toEqual([round, []]);
    }
    expect(await deadlocks()).toBe(0);
    expect(await stores[0]?.check?.()).toMatchObject({ ok: true });
    for (const { close } of pools) await close();
  });
});

type Entries = ReturnType<typeof postgres>["entries"];

/** Of entries that are there: an end without its successor, and a predecessor that does not end. */
function strayLinks(all: readonly ListedEntry[]): string[] {
  const found = new Map(all.map((entry) => [entry.key, entry]));
  return all.flatMap(({ key, supersedes, supersededBy }) => [
    ...supersededBy.filter((by) => !found.get(by)?.supersedes.includes(key)).map((by) => `${key} ends by ${by}`),
    ...supersedes
      .filter((each) => found.get(each)?.supersededBy.includes(key) === false)
      .map((each) => `${key} does not end ${each}`),
  ]);
}
