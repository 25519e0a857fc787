import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { expectError } from "../../../packages/conformance/src/assert.js";
import * as stemma from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { type ReadWiring, readWirings, wirings } from "../../fixtures/agents-wirings.mjs";

const { AgentContextProvider, AgentSearchProvider, Session, SessionManager } = stemma;
const FIXTURES = join(import.meta.dirname, "../..", "fixtures");

/** What agents read from the fixture, and the rows of its blocks. */
interface Expected {
  managedId: string;
  rows: { label: string; content: string }[];
  read: Record<string, ReadWiring>;
}

/** An agent, as far as the documents show one. */
class Agent {
  readonly #database: Database.Database;
  constructor(path: string) {
    this.#database = new Database(path);
  }
  sql<T>(strings: TemplateStringsArray, ...values: (string | number | boolean | null)[]): T[] {
    const statement = this.#database.prepare(strings.join("?"));
    if (statement.reader) return statement.all(...values) as T[];
    statement.run(...values);
    return [];
  }
  close(): void {
    this.#database.close();
  }
}

describe.each(["0.22.0", "0.9.0"])("the documented wirings, written by agents %s", (version) => {
  const { managedId, rows, read } = JSON.parse(
    readFileSync(join(FIXTURES, `agents-${version}-wirings.json`), "utf8"),
  ) as Expected;
  // Entries came with 0.10.
  const hasEntries = version === "0.22.0";
  const api = hasEntries ? stemma : { ...stemma, AgentSearchProvider: undefined };
  let folder = "";
  let path = "";
  const opened: { close(): unknown }[] = [];
  const keep = <T extends { close(): unknown }>(host: T): T => {
    opened.push(host);
    return host;
  };
  const open = () => keep(sqlite(path));
  const contents = () => {
    const database = new Database(path, { readonly: true });
    const blocks = database.prepare("SELECT session_id, label, content FROM cf_agents_context_blocks").all();
    const entries = database.prepare("SELECT session_id, label, content FROM cf_agents_search_entries").all();
    database.close();
    return [...blocks, ...entries] as { session_id: string; label: string; content: string }[];
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "stemma-wirings-"));
    path = join(folder, "agents.sqlite");
    copyFileSync(join(FIXTURES, `agents-${version}-wirings.sqlite`), path);
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
    rmSync(folder, { recursive: true });
  });

  it.each([
    ["a store", () => keep(sqlite(path))],
    ["an agent", () => keep(new Agent(path))],
  ])("are found by the same program with its imports replaced, on %s", async (_title, connect) => {
    for (let start = 0; start < 2; start += 1) {
      const found = await readWirings(api, connect(), managedId);
      for (const [name, { prompt, blocks, found: entries }] of Object.entries(read)) {
        expect(found[name]?.blocks, name).toEqual(blocks);
        // A prompt that was not stored is rendered here.
        if (rows.some(({ content }) => content === prompt)) expect(found[name]?.prompt, name).toBe(prompt);
        for (const [query, text] of Object.entries(entries)) {
          const answer = found[name]?.found[query as keyof typeof entries];
          expect(answer?.split("\n\n").sort(), name).toEqual(text.split("\n\n").sort());
        }
      }
    }
  });

  it("are each session's own once it writes", async () => {
    const store = open();
    const session = (name: string) => wirings(api, store, managedId)[name]?.() as stemma.Session;
    const hand = session("by hand");
    await hand.tools();
    expect(hand.getContextBlock("notes")?.version).toBe(1);
    await expectError(hand.replaceContextBlock("notes", "stale", { expectedVersion: 0 }), "BLOCK_CONFLICT");
    await hand.appendContextBlock("notes", " and added");
    await hand.replaceContextBlock("notes", `${hand.getContextBlock("notes")?.content}!`, { expectedVersion: 2 });
    await hand.refreshSystemPrompt();
    await session("named").replaceContextBlock("memory", "new");

    const found = await readWirings(api, store, managedId);
    expect(found["by hand"]?.blocks).toEqual([{ label: "notes", content: "notes, written managed\n and added!" }]);
    expect(found["by hand"]?.prompt).toContain("and added!");
    expect(found["by hand in another session"]?.blocks).toEqual(read["by hand in another session"]?.blocks);
    expect(found.named?.blocks[0]?.content).toBe("new");
    expect(found.unnamed?.blocks).toEqual(read.unnamed?.blocks);
  });

  it("show nothing of the unnamed session to a session that is new", async () => {
    const store = open();
    const fresh = Session.create(store).forSession("fresh").withContext("memory").withCachedPrompt();
    expect(await fresh.freezeSystemPrompt()).not.toContain("written");
    const hidden = Session.create(store).forSession("fresh too").withContext("notes").withContext("c_a");
    await hidden.tools();
    expect(hidden.getContextBlocks().map(({ content }) => content)).toEqual(["", ""]);
  });

  it.runIf(hasEntries)("keep entries that a session writes from the others", async () => {
    const store = open();
    const provider = (sessionId: string) => new AgentSearchProvider(store, "knowledge").forSession(sessionId);
    const [one, two] = [provider("one"), provider("two")];
    await one.set("deployments", "Deployments moved to Monday.");
    await one.append("beans-named", " And tea.");
    await one.set("more", "Deployments need a review.");
    expect(await one.get()).toBe("5 entries indexed.");
    expect(await one.search("deployments")).not.toContain("managed last");
    expect(await one.search("tea")).toBe("[beans-named]\nCoffee beans, written named.\n And tea.");
    expect(await two.get()).toBe("4 entries indexed.");
    expect(await two.search("deployments")).toBe("[deployments]\nDeployments, written managed last.");
    expect(await two.search("tea")).toBeNull();
    const scope = { sessionId: "one", label: "knowledge" };
    await store.entries.delete(scope, "deployments");
    expect(await store.entries.get(scope, "deployments")).toBeNull();
  });

  it("come along with a fork and a split", async () => {
    const store = open();
    const manager = () => SessionManager.create(store).withContext("memory").withCachedPrompt();
    const fork = await manager().fork(managedId, `${managedId}-managed`, "Fork");
    const split = await manager().compactAndSplit(managedId, "What was said");
    for (const { id } of [fork, split]) {
      const session = manager().getSession(id);
      expect(await session.freezeSystemPrompt()).toBe(read.managed?.prompt);
      expect(session.getContextBlock("memory")?.content).toBe("memory, written managed");
    }
    const unnamed = await manager().fork("", `${managedId}-unnamed`, "Fork of the unnamed one");
    const session = manager().getSession(unnamed.id);
    expect(await session.freezeSystemPrompt()).toBe(read.unnamed?.prompt);
    const own = contents().filter((row) => row.session_id === unnamed.id);
    expect(own.filter(({ label }) => label.includes(managedId) || label === "memory_named")).toEqual([]);
  });

  it("are gone with a session that is deleted, and no other's are", async () => {
    const store = open();
    const manager = SessionManager.create(store);
    await manager.delete(managedId);
    await manager.delete("doc");
    expect(contents().filter(({ label }) => label.endsWith(managedId) || label.endsWith("_doc"))).toEqual([]);
    const found = await readWirings(api, store, managedId);
    expect(found.managed?.blocks.find(({ label }) => label === "memory")?.content).toBe("");
    expect(found.managed?.blocks.find(({ label }) => label === "notes")?.content).toBe("notes, written managed");
    for (const name of ["unnamed", "named", "without messages", "by hand", "ambiguous"]) {
      expect(found[name]?.blocks, name).toEqual(read[name]?.blocks);
    }
  });

  it.each([
    ["a_b", "ambiguous", "ambiguous too"],
    ["b", "ambiguous too", "ambiguous"],
  ])("that two sessions could mean stay with the other when %s is deleted", async (id, deleted, other) => {
    const store = open();
    await SessionManager.create(store).delete(id);
    const found = await readWirings(api, store, managedId);
    expect(found[deleted]?.blocks[0]?.content).toBe("");
    expect(found[other]?.blocks).toEqual(read[other]?.blocks);
  });

  it("are out of reach of a session id", async () => {
    const store = open();
    const id = "agents_before_upgrade";
    expect(() => Session.create(store).forSession(id)).toThrow("reserved");
    await expectError(SessionManager.create(store).create("name", { id }), "INVALID_ARGUMENT");
    await SessionManager.create(store).delete(id);
    expect(() => new AgentContextProvider(store, "notes").forSession(id)).toThrow("reserved");
    expect(await new AgentContextProvider(store, "notes").get()).toBe("notes, written managed");
  });

  it("have skills that were loaded before, which can be unloaded", async () => {
    const session = (store: stemma.Store) => wirings(api, store, managedId).skilled?.() as stemma.Session;
    const store = open();
    const unload = async (key: string) =>
      (await session(store).tools()).unload_context?.execute({ label: "skills", key }, { toolCallId: "unload" });
    expect(JSON.stringify(await session(store).getHistory())).toContain("The whole style-guide document.");
    for (const key of ["style-guide", "deploy"]) {
      expect(await unload(key)).toBe(`Unloaded ${key} of skills.`);
      expect(await unload(key)).toContain("is not loaded");
    }
    const again = keep(sqlite(path));
    expect(JSON.stringify(await session(again).getHistory())).not.toContain("The whole");
    expect(JSON.stringify(await session(again).getMessage("loaded-0"))).toContain("The whole style-guide document.");
  });
});
