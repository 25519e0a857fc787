import type { CompactFunction, CompactResult, SessionMessage } from "@stemma/model";
import { estimateTokens } from "@stemma/model";
import type { Session } from "@stemma/session";
import { expect, expectError } from "../assert.js";
import { chain, historyIds, historyTexts, idsOf, message, numbered } from "../samples.js";
import { defineTopic } from "../topic.js";
import { allBut, long, observed, textsOf } from "./compact-samples.js";

/**
 * Summaries that `compact()` stores of what a compact function gives. When sessions compact by themselves is the topic of
 * `automatic-compaction.ts`.
 */
export const compacting = defineTopic("compacting", (it) => {
  it("lays the compact function's summary over its range, and resolves to it", async ({ session }) => {
    session.onCompaction(allBut(1));
    await session.appendAll(long(5));
    const first = idsOf(await session.getHistory());
    const result = await session.compact();
    expect(result).toEqual({ fromMessageId: first[0], toMessageId: first[3], summary: "summary" });
    expect(await historyTexts(session)).toEqual(["summary", textsOf(long(5))[4]]);
  });

  it("extends the visible summary of this branch, named by its synthetic id", async ({ session }) => {
    session.onCompaction(allBut(1));
    await session.appendAll(long(5));
    await session.compact();
    const [summary] = await historyIds(session);
    await session.appendAll(long(5, "later"));
    const seen = await session.getHistory();
    expect(seen[0]?.id).toBe(summary);
    expect(await session.compact()).toEqual({
      fromMessageId: "m000000",
      toMessageId: "later000003",
      summary: "summary",
    });
    expect((await session.getHistory()).length).toBe(2);
    expect((await session.getCompactions()).length).toBe(2);
  });

  it("refuses compact() without a compact function", async ({ session }) => {
    await chain(session, ["a"]);
    await expectError(session.compact(), "COMPACTION_NOT_CONFIGURED");
  });

  it("stores nothing when the function gives null, an empty summary, or one that does not shrink", async (workspace) => {
    const range = { fromMessageId: "m000000", toMessageId: "m000003" };
    const results: (CompactResult | null)[] = [
      null,
      { ...range, summary: "" },
      { ...range, summary: " \n" },
      { ...range, summary: "words ".repeat(5000) },
      // As large as what it would stand for.
      { fromMessageId: "m000000", toMessageId: "m000000", summary: textsOf(long(1))[0] ?? "" },
    ];
    for (const [index, result] of results.entries()) {
      const session = workspace.sessionOf(`s${index}`).onCompaction(async () => result);
      await session.appendAll(long(5));
      expect(await session.compact()).toBe(null);
      expect(await session.getCompactions()).toEqual([]);
    }
  });

  it("resolves compact() to null when the function fails, and tells subscribers and onCompactionError", async (workspace) => {
    const functions: [string, CompactFunction][] = [
      ["rejects", () => Promise.reject(new RangeError("the model is away"))],
      [
        "throws",
        () => {
          throw new RangeError("the model is away");
        },
      ],
      ["gives-no-range", async () => ({ summary: "s" }) as CompactResult],
    ];
    for (const [name, compact] of functions) {
      const session = workspace.sessionOf(name).onCompaction(compact);
      const { failures, events } = observed(session);
      await session.appendAll(long(5));
      expect(await session.compact()).toBe(null);
      expect(await session.getCompactions()).toEqual([]);
      expect(failures.length).toBe(1);
      expect(events).toEqual([(failures[0] as Error).message]);
    }
  });

  it("refuses a range that the function made up", async ({ session }) => {
    const ends = { fromMessageId: "m000003", toMessageId: "m000001" };
    session.onCompaction(async () => ({ ...ends, summary: "s" }));
    await session.appendAll(long(5));
    await expectError(session.compact(), "COMPACTION_INVALID_RANGE");
    Object.assign(ends, { fromMessageId: "m000000", toMessageId: "nowhere" });
    await expectError(session.compact(), "COMPACTION_INVALID_RANGE");
    expect(await session.getCompactions()).toEqual([]);
  });

  it("compacts the path to a leaf that is named, by a message or a summary", async ({ session }) => {
    session.onCompaction(allBut(1));
    await session.appendAll(long(6));
    await session.appendAll(long(6, "other"), null);
    expect((await session.compact("m000005"))?.toMessageId).toBe("m000004");
    expect(await historyIds(session)).toEqual(numbered("other", 6));
    expect(await historyTexts(session, "m000005")).toEqual(["summary", textsOf(long(6))[5]]);
    const end = await session.addCompaction("end", "m000005", "m000005");
    await session.appendAll(long(3, "below"), `compaction_${end.id}`);
    await session.setActiveLeaf("other000005");
    expect(await session.compact("compaction_unknown").catch((error) => error.code)).toBe("MESSAGE_NOT_FOUND");
    await expectError(session.compact("unknown"), "MESSAGE_NOT_FOUND");
    await session.compact(`compaction_${end.id}`);
    expect(await session.compact(null)).toEqual({
      fromMessageId: "other000000",
      toMessageId: "other000004",
      summary: "summary",
    });
  });

  it("leaves one summary of a function that returns real ids and knows of no earlier summary", async ({ session }) => {
    // Summarises all but the first and the last two of what it sees as messages.
    session.onCompaction(async (messages) => {
      const real = messages.filter(({ id }) => !id.startsWith("compaction_")).slice(1, -2);
      const ends = [real[0], real.at(-1)] as [SessionMessage, SessionMessage];
      return { fromMessageId: ends[0].id, toMessageId: ends[1].id, summary: `summary of ${messages.length}` };
    });
    await session.appendAll(long(6, "a"));
    expect(await session.compact()).toEqual({
      fromMessageId: "a000001",
      toMessageId: "a000003",
      summary: "summary of 6",
    });
    for (const prefix of ["b", "c"]) {
      await session.appendAll(long(6, prefix));
      expect((await session.compact())?.fromMessageId).toBe("a000001");
      const summaries = (await historyIds(session)).filter((id) => id.startsWith("compaction_"));
      expect(summaries.length).toBe(1);
    }
    expect(await historyIds(session).then((ids) => ids.filter((_, index) => index !== 1))).toEqual([
      "a000000",
      "c000004",
      "c000005",
    ]);
    expect((await session.getCompactions()).length).toBe(3);
  });

  it("takes a message that lies under a summary by now for that summary", async ({ session }) => {
    let ends = ["m000000", "m000003"];
    session.onCompaction(async () => {
      return { fromMessageId: ends[0] as string, toMessageId: ends[1] as string, summary: "summary" };
    });
    await session.appendAll(long(8));
    await session.compact();
    ends = ["m000002", "m000005"];
    expect(await session.compact()).toEqual({ fromMessageId: "m000000", toMessageId: "m000005", summary: "summary" });
    expect((await historyIds(session)).slice(1)).toEqual(["m000006", "m000007"]);
  });

  it("does not extend a range that ends before the earliest summary", async ({ session }) => {
    session.onCompaction(async () => ({ fromMessageId: "m000000", toMessageId: "m000001", summary: "first" }));
    await session.appendAll(long(6));
    await session.addCompaction("later", "m000003", "m000004");
    await session.compact();
    expect(await historyTexts(session)).toEqual(["first", textsOf(long(6))[2], "later", textsOf(long(6))[5]]);
  });

  it("stores the summary of messages that hold media, dates and large texts", async ({ session }) => {
    session.onCompaction(async (messages) => {
      const result = await allBut(1)(messages, {});
      // What a function does to what it was given is its own business.
      for (const each of messages.splice(0)) each.parts.splice(0);
      return result;
    });
    const url = `data:image/png;base64,${"A".repeat(10_000)}`;
    await session.appendAll([
      { id: "image", role: "user", parts: [{ type: "file", mediaType: "image/png", url }] },
      { ...message("dated"), createdAt: new Date("2026-01-01") },
      message("large", "many words of one text ".repeat(100_000)),
      message("odd", "é 漢字 🎉 \u0000 \" ' "),
      message("last"),
    ]);
    expect(await session.compact()).toEqual({ fromMessageId: "image", toMessageId: "odd", summary: "summary" });
    expect(await historyTexts(session)).toEqual(["summary", "text of last"]);
  });

  it("refreshes the frozen prompt when it stored a summary, and only then", async (workspace) => {
    const held: { prompt: string | null } = { prompt: null };
    const elsewhere = {
      get: async () => held.prompt,
      set: async (prompt: string) => {
        held.prompt = prompt;
      },
    };
    const prompts: [string, (session: Session) => Session][] = [
      ["in-memory", (session) => session],
      ["in-the-store", (session) => session.withCachedPrompt()],
      ["elsewhere", (session) => session.withCachedPrompt(elsewhere)],
    ];
    for (const [name, keep] of prompts) {
      for (const automatic of [false, true]) {
        const id = automatic ? `${name}-automatic` : name;
        held.prompt = null;
        let gives: CompactFunction = async () => null;
        const session = keep(workspace.sessionOf(id).withContext("memory"));
        session.onCompaction((messages, context) => gives(messages, context));
        if (automatic) session.compactAfter(estimateTokens(long(4)));
        const compact = () => (automatic ? session.appendMessage(message("x")) : session.compact());
        await session.appendAll(long(4));
        const frozen = await session.freezeSystemPrompt();
        await session.replaceContextBlock("memory", "User likes coffee.");
        await compact();
        expect(await session.freezeSystemPrompt()).toBe(frozen);
        gives = allBut(1);
        if (automatic) await session.appendMessage(message("y"));
        else await session.compact();
        expect((await session.getCompactions()).length).toBe(1);
        const refreshed = await session.freezeSystemPrompt();
        expect(refreshed.includes("User likes coffee.")).toBe(true);
      }
    }
  });

  it("does not freeze a prompt that was not frozen", async ({ sessionOf, store }) => {
    const session = sessionOf("main").withContext("memory").withCachedPrompt().onCompaction(allBut(1));
    await session.appendAll(long(4));
    expect((await session.compact())?.summary).toBe("summary");
    expect(await store.blocks.get({ sessionId: "main", kind: "prompt", label: "" })).toBe(null);
  });

  it("keeps a compaction whose prompt could not be refreshed, and tells so", async ({ sessionOf }) => {
    let fails = false;
    const get = async () => {
      if (fails) throw new RangeError("the disk is gone");
      return "content";
    };
    const session = sessionOf("s")
      .withContext("soul", { provider: { get } })
      .withCachedPrompt()
      .onCompaction(allBut(1));
    const { failures, events } = observed(session);
    await session.appendAll(long(4));
    const prompt = await session.freezeSystemPrompt();
    fails = true;
    expect((await session.compact())?.summary).toBe("summary");
    expect(failures.map((error) => (error as { code?: string }).code)).toEqual(["PROVIDER_FAILED"]);
    expect(events.length).toBe(1);
    expect((await session.getCompactions()).length).toBe(1);
    expect(await session.freezeSystemPrompt()).toBe(prompt);
  });
});
