import { expect, failureOf } from "../assert.js";
import { chain, historyIds, message, numbered } from "../samples.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";

/** Several callers, session objects and connections at once. Several processes are a matter for a store's own tests. */
export const concurrency = defineTopic("concurrency", (it) => {
  it("forms one chain of 20 parallel appends: 21 of 21 messages in one history", async ({ session, sessionOf }) => {
    await chain(session, ["root"]);
    const ids = numbered("m", 20);
    await Promise.all(ids.map((id) => sessionOf("main").appendMessage(message(id))));
    const history = await historyIds(session);
    expect(history.length).toBe(21);
    expect(history.slice().sort()).toEqual([...ids, "root"]);
    expect(await session.getPathLength()).toBe(21);
  });

  it("forms one chain of appends through several connections", ["durable"], async (workspace) => {
    const connections = await several(workspace, 3);
    const ids = numbered("m", 30);
    await Promise.all(ids.map((id, index) => at(connections, index).session.appendMessage(message(id))));
    for (const { session } of connections) {
      expect((await historyIds(session)).sort()).toEqual(ids);
    }
  });

  it("keeps the batches of parallel appendAll calls whole", ["durable"], async (workspace) => {
    const connections = await several(workspace, 3);
    const batches = ["x", "y", "z", "u", "v"].map((prefix) => numbered(prefix, 10));
    await Promise.all(
      batches.map((ids, index) => at(connections, index).session.appendAll(ids.map((id) => message(id)))),
    );
    const history = await historyIds(workspace.session);
    expect(history.length).toBe(50);
    for (const ids of batches) {
      const start = history.indexOf(ids[0] as string);
      expect(history.slice(start, start + 10)).toEqual(ids);
    }
  });

  it("inserts a message once, however many callers append it", ["durable"], async (workspace) => {
    const connections = await several(workspace, 3);
    const results = await Promise.all(
      numbered("", 12).map((_, index) => at(connections, index).session.appendMessage(message("same"))),
    );
    expect(results.filter(({ inserted }) => inserted).length).toBe(1);
    expect(await historyIds(workspace.session)).toEqual(["same"]);
  });

  it(
    "lets one of several appends that expect the same leaf win, in an empty session too",
    ["durable"],
    async (workspace) => {
      const connections = await several(workspace, 3);
      const history: string[] = [];
      for (const round of ["x", "y", "z"]) {
        const expectedLeaf = history.at(-1) ?? null;
        const won = await Promise.all(
          numbered(round, 12).map(async (id, index) => {
            const append = at(connections, index).session.appendMessage(message(id), undefined, { expectedLeaf });
            const error = await failureOf(append);
            return error === undefined ? id : (error as { code?: unknown }).code;
          }),
        );
        const ids = won.filter((each) => each !== "LEAF_MOVED");
        expect([ids.length, won.length]).toEqual([1, 12]);
        history.push(ids[0] as string);
        expect(await historyIds(workspace.session)).toEqual(history);
      }
    },
  );

  it("keeps 1,000 concurrent block appends of 1,000", async ({ sessionOf }) => {
    const ids = numbered("", 1000);
    const sessions = [0, 1, 2, 3].map(() => sessionOf("s").withContext("memory"));
    const append = (id: string, index: number) => sessions[index % 4]?.appendContextBlock("memory", `${id};`);
    await Promise.all(ids.map(append));
    const fresh = sessionOf("s").withContext("memory");
    await fresh.tools();
    const block = fresh.getContextBlock("memory");
    expect(
      block?.content
        .split(/[;\n]+/)
        .filter(Boolean)
        .sort(),
    ).toEqual(ids);
    expect(block?.version).toBe(1000);
  });

  it("lets one of several replaces with the same expected version win", ["durable"], async (workspace) => {
    const connections = await several(workspace, 3);
    const results = await Promise.all(
      connections.map(async ({ sessionOf }, index) => {
        const session = sessionOf("s").withContext("memory");
        return session.replaceContextBlock("memory", `by ${index}`, { expectedVersion: 0 }).then(
          () => "won",
          (error) => error.code as string,
        );
      }),
    );
    expect(results.slice().sort()).toEqual(["BLOCK_CONFLICT", "BLOCK_CONFLICT", "won"]);
  });

  it("keeps every entry and every usage figure of parallel writers", ["durable"], async (workspace) => {
    const connections = await several(workspace, 3);
    await workspace.manager.create("chat", { id: "chat" });
    const scope = { sessionId: "", label: "facts" };
    await Promise.all(
      numbered("k", 30).flatMap((key, index) => {
        const { store, manager } = at(connections, index);
        return [store.entries.set(scope, { key, content: key }), manager.addUsage("chat", 1, 2, 0.5)];
      }),
    );
    expect(await workspace.store.entries.count(scope)).toBe(30);
    const info = await workspace.manager.get("chat");
    expect([info?.input_tokens, info?.output_tokens, info?.estimated_cost]).toEqual([30, 60, 15]);
  });

  it("registers a session once when several create it", ["durable"], async (workspace) => {
    const connections = await several(workspace, 3);
    const made = await Promise.all(connections.map(({ manager }) => manager.create("Chat", { id: "chat" })));
    expect(made[1]).toEqual(made[0]);
    expect((await workspace.manager.list()).length).toBe(1);
  });

  it("sees at once what another connection wrote", ["durable"], async (workspace) => {
    const { session } = await workspace.connect();
    await chain(workspace.session, ["a", "b"]);
    expect(await historyIds(session)).toEqual(["a", "b"]);
    await session.deleteMessages(["b"]);
    await session.appendMessage(message("c"));
    await workspace.session.appendMessage(message("d"));
    expect(await historyIds(workspace.session)).toEqual(["a", "c", "d"]);
    await session.setActiveLeaf("a");
    await workspace.session.appendMessage(message("e"));
    expect(await historyIds(session)).toEqual(["a", "e"]);
  });

  it("keeps the tree whole when deletes race with appends", ["durable"], async (workspace) => {
    const connections = await several(workspace, 3);
    const old = numbered("old", 20);
    const fresh = numbered("new", 20);
    await workspace.session.appendAll(old.map((id) => message(id)));
    await Promise.all([
      ...old.map((id, index) => at(connections, index).session.deleteMessages([id])),
      ...fresh.map((id, index) => at(connections, index + 1).session.appendMessage(message(id))),
    ]);
    expect((await historyIds(workspace.session)).sort()).toEqual(fresh);
  });

  it("gives a reader one consistent view while others write", async ({ session, sessionOf }) => {
    const writer = sessionOf("main");
    const writing = Promise.all(numbered("m", 50).map((id) => writer.appendMessage(message(id))));
    for (let read = 0; read < 10; read += 1) {
      const ids = await historyIds(session);
      expect(ids).toEqual(numbered("m", 50).slice(0, ids.length));
    }
    await writing;
  });
});

async function several(workspace: Workspace, count: number): Promise<Workspace[]> {
  await workspace.store.migrate();
  const connections = [workspace];
  while (connections.length < count) connections.push(await workspace.connect());
  return connections;
}

function at(connections: readonly Workspace[], index: number): Workspace {
  return connections[index % connections.length] as Workspace;
}
