import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemorySaver } from "@langchain/langgraph";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import type { Store } from "../../../packages/stemma/src/index.js";
import { StemmaSaver } from "../../../packages/stemma/src/langgraph.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { chatGraph, historyOf, pathOf, thread, user } from "../../langgraph/graphs.js";
import { expectWhole, shown } from "../../langgraph/two-writers.js";
import { type Acknowledged, writeCheckpoints } from "../../langgraph/write-checkpoints.js";
import { describeServer } from "../../postgres/server.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-two-writers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("on SQLite", () => {
  let files = 0;
  describeWriters(() => {
    files += 1;
    const path = join(folder, `${files}.db`);
    return [sqlite(path), sqlite(path)];
  });
});

describeServer("on Postgres", (server) => {
  let users = 0;
  describeWriters(() => {
    users += 1;
    const schema = `writers_${users}`;
    return [postgres(server.url, { schema }), postgres(server.url, { schema })];
  });
});

/** Two stores on one database, with a connection each. */
function describeWriters(open: () => [Store, Store]): void {
  let stores: [Store, Store];
  beforeEach(async () => {
    stores = open();
    await stores[0].migrate();
    return async () => {
      for (const store of stores) await store.close();
    };
  });

  it("keep every checkpoint of one thread, and each of them as a path of the session", async () => {
    const acknowledged: Acknowledged[] = [];
    const write = (store: Store, name: string) =>
      writeCheckpoints(new StemmaSaver(store), { name, steps: 30, acknowledge: (one) => void acknowledged.push(one) });
    // Two of them in one process share a connection.
    await Promise.all([write(stores[0], "anna"), write(stores[1], "ben"), write(stores[1], "carl")]);
    expect(acknowledged).toHaveLength(90);
    await expectWhole(stores[0], acknowledged);
  });

  it("read whole checkpoints while others remove the older ones", async () => {
    const known = new Map<string, Acknowledged>();
    const acknowledge = (one: Acknowledged) => void known.set(one.id, one);
    const writing = stores.map((store, index) =>
      writeCheckpoints(new StemmaSaver(store, { keep: 1 }), { name: `writer ${index}`, steps: 40, acknowledge }),
    );
    const saver = new StemmaSaver(stores[1]);
    let isOver = false;
    const reading = (async () => {
      while (!isOver) {
        if (known.size > 0) expect(await saver.getTuple(thread("t"))).toBeDefined();
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    await Promise.all(writing);
    isOver = true;
    await reading;
    const left: string[] = [];
    for await (const { checkpoint } of saver.list(thread("t"))) {
      expect(shown(checkpoint.channel_values.messages)).toEqual(known.get(checkpoint.id)?.messages);
      left.push(checkpoint.id);
    }
    expect(left.length).toBeGreaterThan(0);
    // What cannot be read is not listed.
    expect(await stores[0].records.list({ sessionId: "t", label: "langgraph" })).toHaveLength(left.length);
  });

  it("leave a whole thread when it is deleted meanwhile", async () => {
    const [first, second] = stores.map((store) => new StemmaSaver(store)) as [StemmaSaver, StemmaSaver];
    const known = new Map<string, Acknowledged>();
    const acknowledge = (one: Acknowledged) => void known.set(one.id, one);
    const writing = writeCheckpoints(first, { name: "anna", steps: 40, acknowledge });
    for (let deletions = 0; deletions < 8; deletions += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      await second.deleteThread("t");
    }
    await writing;
    const kept = await stores[0].records.list({ sessionId: "t", label: "langgraph" });
    const listed: string[] = [];
    for await (const { checkpoint } of second.list(thread("t"))) {
      expect(shown(checkpoint.channel_values.messages)).toEqual(known.get(checkpoint.id)?.messages);
      listed.push(checkpoint.id);
    }
    expect(kept).toHaveLength(listed.length);
    expect(await stores[0].sessions.get("t")).toEqual(listed.length > 0 ? expect.anything() : null);
    expect((await stores[0].check?.())?.problems).toEqual([]);
  });

  it("invoke a graph at once as on LangGraph's own saver: both runs are there, and the later one is the latest", async () => {
    const run = async (graphs: readonly ReturnType<typeof chatGraph>[]) => {
      const [one, other] = graphs as [ReturnType<typeof chatGraph>, ReturnType<typeof chatGraph>];
      await one.invoke({ messages: [user("hello")] }, thread("t"));
      await Promise.all([
        one.invoke({ messages: [user("first")] }, thread("t")),
        other.invoke({ messages: [user("second")] }, thread("t")),
      ]);
      const history = await historyOf(one, thread("t"));
      return history.map((state) => JSON.stringify(state)).sort();
    };
    const reference = new MemorySaver();
    const own = stores.map((store) => chatGraph(new StemmaSaver(store)));
    expect((await run(own)).length).toBe((await run([chatGraph(reference), chatGraph(reference)])).length);
    const texts = [];
    for await (const { message } of stores[0].session("t").messages()) texts.push(message.parts[0]?.text);
    expect(texts).toEqual(expect.arrayContaining(["first", "answer to first", "second", "answer to second"]));
    const latest = await new StemmaSaver(stores[0]).getTuple(thread("t"));
    const said = shown(latest?.checkpoint.channel_values.messages).map(([, text]) => text);
    expect([said, await pathOf(stores[0], "t")].map((path) => path.slice(0, 2))).toEqual([
      ["hello", "answer to hello"],
      ["hello", "answer to hello"],
    ]);
  });
}
