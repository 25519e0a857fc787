import { describe, expect, it } from "vitest";
import { remote } from "../../../packages/client/src/remote/remote.js";
import { memory } from "../../../packages/store/src/memory.js";
import { serverFor } from "../../server/remote-target.js";

const NO_COUNT = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e300, "x"] as number[];
/** These read to their end. */
const WITHOUT_END = ["sessions", "search"];

describe.each([
  ["memory", () => memory()],
  ["a remote store", () => remote({ baseUrl: "http://memory.test", fetch: serverFor(memory()) })],
])("a number of %s that is none", (_, open) => {
  it("is refused in our words, and ends", { timeout: 20_000 }, async () => {
    const store = open();
    const session = store.session("main");
    await session.append([{ id: "m1", role: "user", parts: [{ type: "text", text: "ferry" }] }]);
    const scope = { sessionId: "", scope: { key: "team" } } as const;
    const calls: Record<string, (count: number) => Promise<unknown>> = {
      treePage: (limit) => session.treePage({ limit }),
      recent: (minMessages) => session.recent(0, { minMessages }),
      stream: (firstPage) => session.stream({ firstPage })[Symbol.asyncIterator]().next(),
      sessions: (limit) => store.sessions.list({ limit }),
      unregistered: (limit) => store.sessions.unregistered({ limit }),
      due: (limit) => store.sessions.due({ limit }),
      usage: (limit) => store.sessions.usage({ by: "day", limit }),
      compactionSums: (limit) => store.sessions.compactionSums({ by: "day", limit }),
      prune: (limit) => store.sessions.prune("main", { limit }),
      keepMessages: (keepMessages) => store.sessions.prune("main", { limit: 1, keepMessages }),
      pruneVersions: (limit) => store.pruneVersions(scope, { limit, keep: 1 }),
      keep: (keep) => store.pruneVersions(scope, { limit: 1, keep }),
      pruneExpired: (limit) => store.pruneExpired(scope, { limit }),
      owners: (limit) => store.blocks.owners("key", { limit }),
      records: (limit) => store.records.list({ sessionId: "main", label: "state" }, { limit }),
      entries: (limit) => store.entries.list({ ...scope, label: "facts" }, { limit }),
      search: (limit) => store.search("ferry", { limit }),
      offset: (offset) => store.search("ferry", { limit: 1, offset }),
      context: (context) => store.search("ferry", { limit: 1, context }),
    };
    for (const [name, call] of Object.entries(calls)) {
      for (const count of NO_COUNT) {
        if (count === Number.POSITIVE_INFINITY && WITHOUT_END.includes(name)) {
          expect(JSON.stringify(await call(count))).toContain("main");
          continue;
        }
        await expect(call(count), `${name} ${count}`).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      }
    }
    await store.close();
  });
});
