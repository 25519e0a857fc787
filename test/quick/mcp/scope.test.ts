import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { McpServerOptions } from "../../../packages/stemma/src/mcp.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { allResults, call, connect, failureOf, type Results } from "../../mcp/connect.js";
import { fillStore } from "../../mcp/sample.js";

let store: Store;

beforeEach(async () => {
  store = memory();
  await fillStore(store);
});
afterEach(() => store.close());

const SCOPES: readonly (readonly [string, McpServerOptions, readonly string[]])[] = [
  ["nobody in particular", {}, ["a1", "a2", "b1", "n1"]],
  ["a user", { userId: "ada" }, ["a1", "a2"]],
  ["a project", { project: "garden" }, ["a1", "b1"]],
  ["a user and a project", { userId: "ada", project: "garden" }, ["a1"]],
  ["a user without sessions", { userId: "eve" }, []],
  ["a project without sessions", { project: "gardens" }, []],
];

describe("an MCP server", () => {
  it.each(SCOPES)("for %s shows its sessions, and no way leads to another one", async (_, options, ids) => {
    const client = await connect(store, options);
    const sessions = new Set(
      (await allResults(client, { query: "tea", limit: 2 })).map(({ metadata }) => metadata.session),
    );
    expect([...sessions].toSorted()).toEqual(ids.map((id) => `session/${id}`));
    for (const tool of ["recent", "list_sessions"]) {
      const { sessions } = await call<{ sessions: { id: string }[] }>(client, tool, { limit: 50 });
      expect(sessions.map(({ id }) => id).toSorted()).toEqual(ids.map((id) => `session/${id}`));
    }
    const { resources } = await client.listResources();
    expect(resources.map(({ name }) => name).toSorted()).toEqual(ids.map((id) => `session/${id}`));
    for (const id of ["a1", "a2", "b1", "n1", "stemma:user:ben"].filter((each) => !ids.includes(each))) {
      for (const foreign of [`session/${id}`, `session/${id}/message/m1`, `session/${id}/block/memory`]) {
        expect(await failureOf(client, "fetch", { id: foreign, context: 3 })).toMatch(/There is no (such )?session/);
        await expect(client.readResource({ uri: `stemma://${foreign}` })).rejects.toThrow("session");
      }
      expect(await failureOf(client, "search", { query: "tea", session: `session/${id}` })).toContain("no session");
      await expect(
        client.getPrompt({ name: "continue_conversation", arguments: { conversation: id } }),
      ).rejects.toThrow();
    }
    await client.close();
  });

  it("answers for another user's session as for one that is not there", async () => {
    const client = await connect(store, { userId: "ada" });
    const ask = async (id: string) => {
      const told: unknown[] = [];
      for (const end of ["", "/message/m1", "/message/none", "/block/memory", "/block/none", "/nonsense/x"]) {
        told.push(await failureOf(client, "fetch", { id: `session/${id}${end}`, context: 2 }));
        told.push(await client.readResource({ uri: `stemma://session/${id}${end}` }).catch(String));
      }
      told.push(await failureOf(client, "search", { query: "tea", session: `session/${id}` }));
      told.push(await failureOf(client, "search", { query: "tea", session: `session/${id}`, after: "never" }));
      told.push(
        await client.getPrompt({ name: "continue_conversation", arguments: { conversation: id } }).catch(String),
      );
      return JSON.stringify(told).replaceAll(id, "<id>");
    };
    expect(await ask("b1")).toBe(await ask("zz"));
    await client.close();
  });

  it("keeps a memory of its own for each scope", async () => {
    const clients = await Promise.all(
      [...SCOPES.map(([, options]) => options), { userId: "ada", project: "house" }].map((options) =>
        connect(store, options),
      ),
    );
    for (const [index, client] of clients.entries()) {
      await call(client, "remember", { title: "the secret", text: `secret number ${index}` });
    }
    const texts = await Promise.all(
      clients.map(async (client) => {
        const found = await allResults(client, { query: "secret", limit: 50 });
        return found.map(({ text }) => text.replace(/[«»]/g, "")).toSorted();
      }),
    );
    // A user's server has what was remembered in each of the user's projects.
    expect(texts).toEqual([0, [1, 3, 6], 2, 3, 4, 5, 6].map((own) => [own].flat().map((n) => `secret number ${n}`)));
    for (const [index, client] of clients.entries()) {
      const { results } = await call<Results>(client, "recall", { query: "What is the secret number?" });
      const found = results.filter(({ metadata }) => metadata.kind === "entry").map(({ text }) => text);
      expect(found.toSorted()).toEqual(texts[index]);
    }
    const [everybody, ada, garden, adaInGarden] = clients;
    const { results } = await call<Results>(ada as never, "search", { query: "secret" });
    for (const { id } of results.filter(({ text }) => text.includes("6"))) {
      for (const other of [everybody, garden, adaInGarden])
        expect(await failureOf(other as never, "fetch", { id })).toContain("no entry");
      expect(await failureOf(adaInGarden as never, "forget", { id })).toContain("no entry");
    }
    for (const client of clients) await client.close();
  });

  it("shows the user's blocks to the user only", async () => {
    const ada = store.forUser("ada");
    await ada.blocks.set({ sessionId: "", kind: "block", label: "profile", scope: "user" }, "Likes quinces.");
    for (const [, options] of SCOPES) {
      const client = await connect(store, options);
      const found = await allResults(client, { query: "quinces" });
      const shows = options.userId === "ada" && options.project === undefined;
      expect(found.map(({ id }) => id)).toEqual(shows ? ["block/profile"] : []);
      if (!shows) expect(await failureOf(client, "fetch", { id: "block/profile" })).toContain("no block");
      await client.close();
    }
  });

  it("cannot be asked to serve another user than its store", () => {
    const ada = store.forUser("ada");
    return expect(connect(ada, { userId: "ben" })).rejects.toMatchObject({ code: "SESSION_OWNED" });
  });

  it.each([
    { maxTokens: 499 },
    { maxTokens: 10_001 },
    { maxTokens: 600.5 },
    { project: "" },
    { project: "x".repeat(600) },
    { project: "\ud800" },
    { userId: "" },
    { onError: 1 as never },
  ])("refuses options that make no sense: %j", async (options) => {
    await expect(connect(store, options)).rejects.toMatchObject({ name: "StemmaError" });
  });

  it("reads the keys that it was given by their names, and writes to those that it may", async () => {
    const at = (key: string, label = "facts") => ({ sessionId: "", scope: { key }, label });
    for (const key of ["project:apollo", "team", "secret"])
      await store.entries.set(at(key), { key: "launch", content: `The quince launch of ${key}.` });
    const scopes = [
      { scope: { key: "project:apollo" }, name: "apollo" },
      { scope: { key: "team" }, write: true },
    ];
    for (const options of [{ userId: "ada" }, { userId: "ada", project: "garden" }, { project: "garden" }, {}]) {
      const client = await connect(store, { ...options, scopes });
      expect(client.getInstructions()).toContain("It also has scopes, which results name: apollo (read-only), team.");
      for (const tool of ["search", "recall"]) {
        const { results } = await call<Results>(client, tool, { query: "quince launch" });
        expect(results.map(({ id, metadata }) => [id, metadata.scope])).toEqual([
          ["scope/apollo/entry/facts/launch", "apollo"],
          ["scope/team/entry/facts/launch", "team"],
        ]);
      }
      const apollo = "scope/apollo/entry/facts/launch";
      expect(await call(client, "fetch", { id: apollo })).toMatchObject({
        text: "The quince launch of project:apollo.",
      });
      expect((await client.readResource({ uri: `stemma://${apollo}` })).contents).toMatchObject([
        { uri: expect.any(String) },
      ]);
      expect(await failureOf(client, "forget", { id: apollo })).toContain(
        "read-only. Scopes that may be written: team.",
      );
      const remember = { title: "note", text: "Tea at four." };
      expect(await failureOf(client, "remember", { ...remember, scope: "apollo" })).toContain("may be written: team.");
      for (const scope of ["secret", "project:apollo", "user"])
        expect(await failureOf(client, "remember", { ...remember, scope })).toContain("The scopes are: apollo, team.");
      expect(await failureOf(client, "fetch", { id: "scope/secret/entry/facts/launch" })).toContain("no scope");
      const { id } = await call<{ id: string }>(client, "remember", { ...remember, scope: "Team" });
      expect(id).toBe("scope/team/entry/memory/note");
      expect(await call(client, "forget", { id })).toEqual({ id, forgotten: true });
      await client.close();
    }
    const client = await connect(store, { scopes: scopes.slice(0, 1) });
    const { tools } = await client.listTools();
    expect(Object.keys(tools.find(({ name }) => name === "remember")?.inputSchema.properties ?? {})).toEqual([
      "text",
      "title",
    ]);
    await client.close();
    for (const wrong of [[], [{ scope: "user" as const }], [{ scope: { key: "memory" } }], [{ scope: { key: "a b" } }]])
      await expect(async () => connect(store, { scopes: wrong })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});
