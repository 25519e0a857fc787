import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { AgentSearchProvider, Session, StemmaError } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function open(name: string, search: boolean) {
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
