import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { AgentSearchProvider, Session, StemmaError } from "../../../packages/stemma/src/session.js";
import type { SearchSettings } from "../../../packages/store/src/contract/found.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function open(name: string, search: boolean | SearchSettings) {
  const store = sqlite(join(folder, name), { search, synchronous: "normal" });
  const session = Session.create(store).withContext("facts", { provider: new AgentSearchProvider(store) });
  const find = async (query: string) => (await session.search(query)).map(({ id }) => id);
  const note = async (title: string, content: string) =>
    (await session.tools()).set_context?.execute({ label: "facts", content, metadata: { title } });
  const lookUp = async (query: string) => (await session.tools()).search_context?.execute({ label: "facts", query });
  return { store, session, find, note, lookUp };
}

it("indexes what was written without search when the database is next opened with it", async () => {
  const without = open("later", false);
  await without.session.appendAll([textMessage("a", "apples and pears"), textMessage("b", "bread")]);
  await without.note("sky", "The sky is blue.");
  await without.store.close();
  const { store, find, lookUp } = open("later", true);
  expect(await find("pears")).toEqual(["a"]);
  expect(await lookUp("blue")).toContain("The sky is blue.");
  await store.close();
});

it("makes the index anew when messages were written, edited and deleted without search in between", async () => {
  const before = open("between", true);
  await before.session.appendAll([textMessage("a", "apples"), textMessage("b", "bread"), textMessage("c", "cherries")]);
  await before.store.close();
  const without = open("between", false);
  await without.session.deleteMessages(["b"]);
  await without.session.updateMessage(textMessage("a", "apricots"));
  await without.session.appendMessage(textMessage("d", "dates"));
  await without.store.close();
  for (let opened = 0; opened < 2; opened += 1) {
    const { store, find } = open("between", true);
    expect(await find("apples bread cherries apricots dates")).toHaveLength(3);
    expect(await find("apples bread")).toEqual([]);
    await store.close();
  }
});

it("refuses to search messages and entries without search", async () => {
  const { store, session, note, lookUp } = open("refused", false);
  await session.appendMessage(textMessage("a", "apples"));
  await note("sky", "The sky is blue.");
  const code = await session.search("apples").catch((error) => StemmaError.isInstance(error) && error.code);
  expect(code).toBe("SEARCH_UNAVAILABLE");
  expect(await lookUp("blue")).toMatch(/^Error: .*without search/);
  await store.close();
});

it("indexes tool calls, or not, as the store says that makes the index anew", async () => {
  const parts = [{ type: "tool-run", toolCallId: "c", state: "output-available", input: { fruit: "apples" } }];
  const without = open("tools", false);
  await without.session.appendMessage({ id: "a", role: "assistant", parts });
  await without.store.close();
  for (const [search, found] of [
    [true, []],
    [{ tools: true }, []],
    [false, null],
    [{ tools: true }, ["a"]],
    [true, ["a"]],
  ] as const) {
    const { store, find } = open("tools", search);
    await store.migrate();
    if (found !== null) expect(await find("apples"), JSON.stringify(search)).toEqual(found);
    await store.close();
  }
});

it.each([[null], ["tools"], [1], [[]], [{ tools: 1 }], [{ tool: true }]])(
  "refuses %j for the search of a store",
  (search) => {
    const options = { search } as never;
    for (const opens of [
      () => sqlite(":memory:", options),
      () => memory(options),
      () => postgres("postgres://localhost/none", options),
    ]) {
      expect(opens).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    }
  },
);

it("asks a reranker about what was found of tool calls, where only they match", async () => {
  const asked: string[][] = [];
  const store = memory({ search: { tools: true } }).withReranker((_query, passages) => {
    asked.push(passages);
    return passages.map((passage) => Number(passage.includes("city: Lisbon")));
  });
  const parts = [{ type: "tool-run", toolCallId: "c", state: "output-available", input: { city: "Lisbon" } }];
  const session = Session.create(store);
  await session.appendAll([
    { ...textMessage("said", "Lisbon is sunny."), parts: [{ type: "text", text: "Lisbon is sunny." }, ...parts] },
    { id: "called", role: "assistant", parts },
  ]);
  const [best] = await session.search("lisbon");
  expect(asked.map((each) => each.sort())).toEqual([["Lisbon is sunny.", "city: Lisbon"]]);
  expect([best?.id, best?.snippet]).toEqual(["called", "city: «Lisbon»"]);
  await store.close();
});
