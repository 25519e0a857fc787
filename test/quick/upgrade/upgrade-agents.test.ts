import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import {
  AgentContextProvider,
  AgentSearchProvider,
  Session,
  SessionManager,
  type Store,
} from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";

const FIXTURES = join(import.meta.dirname, "../..", "fixtures");

interface ExpectedSession {
  history: string[];
  latestLeaf: string | null;
  histories: Record<string, string[]>;
  branches: Record<string, string[]>;
  compactions: { id: string; summary: string; fromMessageId: string; toMessageId: string }[];
  messages: Record<string, { id: string } | null>;
  blocks: { label: string; content: string }[];
}

interface Expected {
  sessions: Record<string, ExpectedSession>;
  manager: { list: Record<string, unknown>[] };
  stored: {
    rowCounts: Record<string, number>;
    contextBlocks: { label: string; content: string }[];
    searchEntries?: { label: string; key: string; content: string }[];
  };
}

/** Sessions whose histories the old library cut or chose by rules that behaviour.md decides otherwise. */
const DECIDED_OTHERWISE = {
  overlays: "the newest overlay wins over an older one that it overlaps",
};

describe.each(["0.22.0", "0.9.0"])("a database written by agents %s", (version) => {
  const expected = JSON.parse(readFileSync(join(FIXTURES, `agents-${version}.expected.json`), "utf8")) as Expected;
  const folder = mkdtempSync(join(tmpdir(), "stemma-upgrade-"));
  const stores: Store[] = [];
  const open = (name: string): Store => {
    const path = join(folder, `${name}.sqlite`);
    copyFileSync(join(FIXTURES, `agents-${version}.sqlite`), path);
    const store = sqlite(path);
    stores.push(store);
    return store;
  };
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
    for (const name of ["all", "again"]) rmSync(join(folder, `${name}.sqlite`), { force: true });
  });

  it("keeps every message, to the letter", async () => {
    const store = open("all");
    for (const [id, { messages }] of Object.entries(expected.sessions)) {
      const session = Session.create(store).forSession(id);
      for (const [messageId, message] of Object.entries(messages)) {
        if (message !== null) expect(await session.getMessage(messageId), `${id} ${messageId}`).toEqual(message);
      }
    }
    const trees = await Promise.all(
      (await SessionManager.create(store).list()).map(({ id }) => store.session(id).tree()),
    );
    expect(trees.flat()).toHaveLength(expected.stored.rowCounts.assistant_messages as number);
  });

  it("reads the same histories, from the same leaf", async () => {
    const store = open("all");
    for (const [id, old] of Object.entries(expected.sessions)) {
      if (id in DECIDED_OTHERWISE) continue;
      const session = Session.create(store).forSession(id);
      const history = await session.getHistory(undefined, { onCorrupt: "skip" });
      expect(
        history.map((message) => message.id),
        id,
      ).toEqual(old.history);
      expect((await session.getLatestLeaf().catch(() => null))?.id ?? null, id).toBe(old.latestLeaf);
      for (const [leaf, ids] of Object.entries(old.histories)) {
        const branch = await session.getHistory(leaf, { onCorrupt: "skip" });
        expect(
          branch.map((message) => message.id),
          `${id} to ${leaf}`,
        ).toEqual(ids);
      }
      for (const [parent, ids] of Object.entries(old.branches)) {
        expect((await session.getBranches(parent)).map((message) => message.id)).toEqual(ids);
      }
    }
  });

  it("keeps every summary", async () => {
    const store = open("all");
    for (const [id, { compactions }] of Object.entries(expected.sessions)) {
      const kept = await Session.create(store).forSession(id).getCompactions();
      const words = ({ id, summary, fromMessageId, toMessageId }: (typeof compactions)[number]) => ({
        id,
        summary,
        fromMessageId,
        toMessageId,
      });
      expect(kept.map(words), id).toEqual(compactions.map(words));
    }
  });

  it("keeps the blocks and the frozen prompt of each session, and explicit labels", async () => {
    const store = open("all");
    for (const [id, old] of Object.entries(expected.sessions)) {
      const wired = old.blocks.filter(({ label }) =>
        expected.stored.contextBlocks.some((row) => row.label === (id === "" ? label : `${label}_${id}`)),
      );
      let session = Session.create(store).forSession(id).withCachedPrompt();
      for (const { label } of wired) session = session.withContext(label);
      await session.tools();
      for (const { label, content } of wired) expect(session.getContextBlock(label)?.content, id).toBe(content);
      const own = id === "" ? "_system_prompt" : `_system_prompt_${id}`;
      const prompt = expected.stored.contextBlocks.find(({ label }) => label === own)?.content ?? "";
      if (prompt !== "") expect(await session.freezeSystemPrompt(), id).toBe(prompt);
    }
    for (const { label, content } of expected.stored.contextBlocks) {
      if (label === "_system_prompt") continue;
      expect(await new AgentContextProvider(store, label, { shared: true }).get(), label).toBe(content);
    }
  });

  it("keeps the registry", async () => {
    const manager = SessionManager.create(open("all"));
    for (const row of expected.manager.list) {
      const { created_at: _created, updated_at: _updated, ...fields } = row;
      expect(await manager.get(row.id as string)).toMatchObject(fields);
    }
  });

  it.skipIf(version === "0.9.0")("keeps the search entries, and finds them", async () => {
    const store = open("all");
    const entries = expected.stored.searchEntries ?? [];
    expect(entries.length).toBeGreaterThan(0);
    for (const { label, key, content } of entries) {
      expect(await store.entries.get({ sessionId: "", label }, key)).toMatchObject({ key, content });
    }
    const provider = new AgentSearchProvider(store, { shared: true });
    await provider.init(entries[0]?.label as string);
    expect(await provider.search(entries[0]?.content as string)).toContain(entries[0]?.key);
  });

  it("knows which skills are loaded: not the one that agents unloaded", async () => {
    const provider = { get: () => "- style-guide\n- deploy", load: () => null };
    const session = Session.create(open("all")).forSession("loaded").withContext("skills", { provider });
    const { unload_context } = await session.tools();
    const unloads = version === "0.9.0" ? "Unloaded deploy" : "is not loaded";
    expect(await unload_context?.execute({ label: "skills", key: "deploy" })).toContain(unloads);
    expect(await unload_context?.execute({ label: "skills", key: "style-guide" })).toContain("Unloaded style-guide");
    expect(JSON.stringify(await session.getHistory())).not.toContain("The whole");
  });

  it("upgrades once, leaves no table behind, and goes on as a present database", async () => {
    const store = open("again");
    await store.migrate();
    await store.close();
    const reopened = sqlite(join(folder, "again.sqlite"));
    stores.push(reopened);
    const session = Session.create(reopened).forSession("s1");
    await session.appendMessage({ id: "after", role: "user", parts: [{ type: "text", text: "after the upgrade" }] });
    const ids = (await session.getHistory()).map(({ id }) => id);
    expect(ids).toEqual([...(expected.sessions.s1?.history ?? []), "after"]);
  });
});
