import { describe, expect, it } from "vitest";
import type { SessionInfo, SessionMessage } from "../../../packages/stemma/src/session.js";
import { textMessage } from "../../helpers/messages.js";
import { conversations } from "../../workers/conversations.js";
import { describeWorkerd } from "../../workers/workerd.js";

describeWorkerd("a Durable Object in workerd", conversations, (workerd) => {
  describe.each(["ChatObject", "AgentObject"] as const)("%s", (className) => {
    const object = (name: string) => workerd.object(className, name);

    // A restart takes longer, and is the same for both.
    const events = ["an eviction", ...(className === "ChatObject" ? ["a restart of the process"] : [])];
    describe.each(events)("after %s", (event) => {
      const end = async (name: string) => {
        if (event === "an eviction") await expect(object(name).evict()).rejects.toThrow();
        else await workerd.stop();
      };

      it("the history, its branches and the active leaf are what they were", async () => {
        const chat = object(`leaf ${event}`);
        for (const id of ["a", "b", "c"]) await chat.call("appendMessage", textMessage(id));
        await chat.call("appendMessage", textMessage("d"), "a");
        await chat.call("setActiveLeaf", "b");
        await chat.call("addCompaction", "a and b", "a", "b");
        const before = await chat.call("getHistory", "c");
        await end(`leaf ${event}`);
        expect(idsOf(await chat.call("getBranches", "a"))).toEqual(["b", "d"]);
        expect(await chat.call("getHistory", "c")).toEqual(before);
        expect(await chat.call("getLatestLeaf")).toEqual(textMessage("b"));
        await chat.call("appendMessage", textMessage("e"));
        expect(idsOf(await chat.call("getBranches", "b"))).toEqual(["c", "e"]);
      });

      it("the frozen prompt is the same, and what was written since shows when it is refreshed", async () => {
        const chat = object(`prompt ${event}`);
        await chat.call("appendContextBlock", "memory", "User likes coffee.");
        const frozen = await chat.call("freezeSystemPrompt");
        expect(frozen).toContain("User likes coffee.");
        await chat.call("appendContextBlock", "memory", "\nUser prefers dark roast.");
        await end(`prompt ${event}`);
        expect(await chat.call("freezeSystemPrompt")).toBe(frozen);
        expect(await chat.call("refreshSystemPrompt")).toContain("User likes coffee.\nUser prefers dark roast.");
      });

      it("a skill that was loaded can be unloaded, and stays out of sight", async () => {
        const chat = object(`skills ${event}`);
        await chat.putSkill("skills/deploy", "First build, then push.", "How to deploy");
        const output = await chat.useTool("load_context", { label: "skills", key: "deploy" }, "call-1");
        expect(output).toBe("First build, then push.");
        const input = { label: "skills", key: "deploy" };
        const part = { type: "tool-load_context", toolCallId: "call-1", state: "output-available", input, output };
        await chat.call("appendMessage", { id: "loaded", role: "assistant", parts: [part] });
        await end(`skills ${event}`);
        expect(await chat.useTool("unload_context", input)).toBe("Unloaded deploy of skills.");
        await end(`skills ${event}`);
        expect(JSON.stringify(await chat.call("getHistory"))).not.toContain("First build");
        expect(JSON.stringify(await chat.call("getMessage", "loaded"))).toContain("First build");
      });

      it("the sessions of a manager are listed, with all that is in them", async () => {
        const chat = object(`manager ${event}`);
        const { id } = (await chat.manage("create", "First")) as SessionInfo;
        await chat.manage("append", id, textMessage("a", "We deploy on Friday."));
        await chat.manage("append", id, textMessage("b"));
        await chat.callIn(id, "replaceContextBlock", "memory", "Fridays.");
        const fork = (await chat.manage("fork", id, "a", "Second")) as SessionInfo;
        await chat.manage("addUsage", id, 10, 5, 0.01);
        const before = await chat.manage("list");
        await end(`manager ${event}`);
        expect(await chat.manage("list")).toEqual(before);
        expect(idsOf(await chat.manage("getHistory", fork.id))).toEqual(["a"]);
        expect(await chat.callIn(fork.id, "freezeSystemPrompt")).toContain("Fridays.");
        expect(await chat.manage("search", "deployment Friday deploy")).toHaveLength(2);
      });
    });

    it("keeps messages that are larger than a row, byte for byte", async () => {
      const chat = object("large");
      const text = "a text with Ünïcödé, 日本語, 🎉 and \u0000 in it. ".repeat(60_000);
      const large = textMessage("large", text);
      const output = { rows: Array.from({ length: 50_000 }, (_, index) => ({ index, name: `row number ${index}` })) };
      const tool = { type: "tool-query", toolCallId: "1", state: "output-available", input: {}, output };
      await chat.call("appendAll", [textMessage("before"), large, { id: "tool", role: "assistant", parts: [tool] }]);
      expect(await chat.call("getHistory")).toEqual([
        textMessage("before"),
        large,
        { id: "tool", role: "assistant", parts: [tool] },
      ]);
      await chat.call("updateMessage", textMessage("large", `${text}!`));
      expect(await chat.call("getMessage", "large")).toEqual(textMessage("large", `${text}!`));
      await chat.call("deleteMessages", ["large", "tool"]);
      expect(await chat.count("assistant_media")).toBe(0);
    });

    it("keeps inline media larger than a row, once for each content", async () => {
      const chat = object("media");
      const url = `data:image/png;base64,${"iVBORw0KGgoAAAANSUhEUgAA".repeat(100_000)}`;
      const picture = (id: string) => ({ id, role: "user", parts: [{ type: "file", mediaType: "image/png", url }] });
      await chat.call("appendMessage", picture("a"));
      const pieces = await chat.count("assistant_media");
      await chat.call("appendMessage", picture("b"));
      expect(await chat.count("assistant_media")).toBe(pieces);
      expect(await chat.call("getHistory")).toEqual([picture("a"), picture("b")]);
    });

    it("finds words anywhere in a message that is larger than a row", async () => {
      const chat = object("large search");
      const filler = "so it goes on and on for many pages, ".repeat(80_000);
      await chat.call("appendMessage", textMessage("large", `${filler} until the xylophone plays 終わり`));
      expect(idsOf(await chat.call("search", "xylophone"))).toEqual(["large"]);
      expect(idsOf(await chat.call("search", "終わり"))).toEqual(["large"]);
      await chat.call("deleteMessages", ["large"]);
      expect(await chat.call("search", "xylophone pages")).toEqual([]);
    });

    it("leaves nothing of a call that fails in the middle", async () => {
      const chat = object("atomic");
      await chat.call("appendMessage", textMessage("a"));
      const before = await chat.tables();
      await chat.breakInsertOf("c");
      await expect(
        chat.call("appendAll", [textMessage("b"), textMessage("c"), textMessage("d")]),
      ).rejects.toMatchObject({
        code: "STORE_FAILED",
      });
      expect(await chat.tables()).toEqual(before);
      await chat.call("appendMessage", textMessage("b"));
      expect(idsOf(await chat.call("getHistory"))).toEqual(["a", "b"]);
    });

    it("refuses a block or a summary that is larger than a row, and changes nothing", async () => {
      const chat = object("large block");
      const large = "x".repeat(2_300_000);
      await chat.call("appendAll", [textMessage("a"), textMessage("b")]);
      await chat.call("addContext", "notes", { maxTokens: 1_000_000 });
      await chat.call("replaceContextBlock", "notes", "A note.");
      const before = await chat.tables();
      for (const refused of [
        () => chat.call("appendContextBlock", "notes", large),
        () => chat.call("replaceContextBlock", "notes", large),
        () => chat.call("addCompaction", large, "a", "b"),
      ]) {
        await expect(refused()).rejects.toMatchObject({ code: "MESSAGE_TOO_LARGE" });
      }
      expect(await chat.tables()).toEqual(before);
      expect(await chat.call("getContextBlock", "notes")).toMatchObject({ content: "A note." });
    });

    it("starts anew after deleteAll() and the end of the instance", async () => {
      const chat = object("deleted");
      await chat.call("appendMessage", textMessage("a"));
      await chat.deleteAll();
      await expect(chat.call("appendMessage", textMessage("b"))).rejects.toMatchObject({ code: "TABLES_MISSING" });
      await expect(chat.evict()).rejects.toThrow();
      await chat.call("appendMessage", textMessage("b"));
      expect(await chat.call("getHistory")).toEqual([textMessage("b")]);
    });

    it("lists, loads and writes the documents of an R2 bucket", async () => {
      const chat = object("r2");
      await chat.putSkill("skills/style", "Be brief.", "How to write");
      await chat.putSkill("other/secret", "Not a skill.");
      expect(await chat.call("refreshSystemPrompt")).toContain("- style: How to write");
      expect(await chat.call("refreshSystemPrompt")).not.toContain("secret");
      const metadata = { title: "Release notes", description: "How to write them" };
      await chat.useTool("set_context", { label: "skills", content: "One line each.", metadata });
      expect(await chat.call("refreshSystemPrompt")).toContain("- release-notes: How to write them");
      expect(await chat.useTool("load_context", { label: "skills", key: "release-notes" })).toBe("One line each.");
      expect(await chat.useTool("load_context", { label: "skills", key: "../other/secret" })).toMatch(/^Not found/);
    });
  });

  it("lists more documents than R2 gives at once", async () => {
    const chat = workerd.object("ChatObject", "many skills");
    await chat.putSkills("skills/many/", 1_001);
    const prompt = (await chat.call("freezeSystemPrompt")) as string;
    expect(prompt.match(/^- many\//gm)).toHaveLength(1_001);
  });

  it("broadcasts what a session does, on an agent", async () => {
    const chat = workerd.object("AgentObject", "broadcast");
    await chat.call("appendMessage", textMessage("a", "one two three four"));
    expect(await chat.takeBroadcasts()).toEqual([
      { type: "cf_agent_session", phase: "idle", tokenEstimate: expect.any(Number), tokenThreshold: null },
    ]);
    for (const id of ["b", "c", "d", "e", "f", "g", "h"]) {
      await chat.call("appendMessage", textMessage(id, "some more words to be summarised in a moment ".repeat(5)));
    }
    await chat.takeBroadcasts();
    expect(await chat.call("compact")).toMatchObject({ summary: "What was said before." });
    const [compacting, idle] = (await chat.takeBroadcasts()) as { phase: string; tokenEstimate: number }[];
    expect(compacting).toMatchObject({ phase: "compacting" });
    expect(idle).toMatchObject({ phase: "idle", compacted: { tokensBefore: compacting?.tokenEstimate } });
  });

  it("refuses an object that is not backed by SQLite, and says what to do", async () => {
    const opened = workerd.object("KeyValueObject", "a").open();
    await expect(opened).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    await expect(opened).rejects.toThrow("new_sqlite_classes");
  });
});

function idsOf(messages: unknown): string[] {
  return (messages as SessionMessage[]).map(({ id }) => id);
}
