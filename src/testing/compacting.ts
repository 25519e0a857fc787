// One topic of the suite: its cases, one after the other.
import { type CompactFunction, type CompactResult, createCompactFunction } from "../compaction/compact.js";
import type { SessionMessage } from "../model/message.js";
import { estimateStringTokens, estimateTokens } from "../model/tokens.js";
import type { SessionStatusEvent } from "../session/events.js";
import { Session } from "../session/session.js";
import type { TokenCounterInput } from "../session/token-count.js";
import { expect, expectError } from "./assert.js";
import { chain, historyIds, historyTexts, idsOf, message, numbered } from "./samples.js";
import { capabilitiesOf } from "./target.js";
import { defineTopic } from "./topic.js";

/** When a session compacts, and which results of a compact function are stored. One topic, so it is long. */
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

  it("counts a function that does not answer in time as failed, and drops its late answer", async (workspace) => {
    for (const automatic of [false, true]) {
      let answer = (_: CompactResult) => {};
      const late = new Promise<CompactResult>((resolve) => {
        answer = resolve;
      });
      const session: Session = workspace
        .sessionOf(automatic ? "after-a-write" : "called")
        .onCompaction(() => (failures.length === 0 ? late : Promise.resolve(null)), {
          timeout: automatic ? 60_000 : 20,
        });
      if (automatic) session.compactAfter(estimateTokens(long(3)), { timeout: 20 });
      const { failures, events } = observed(session);
      await session.appendAll(long(3));
      if (automatic) await session.appendMessage(message("x"));
      else expect(await session.compact()).toBe(null);
      expect(failures.map((error) => (error as { code?: string }).code)).toEqual(["COMPACTION_TIMEOUT"]);
      expect(events.length).toBe(1);
      answer({ fromMessageId: "m000000", toMessageId: "m000001", summary: "late" });
      await late;
      // Whatever the late answer did would have come before this.
      await session.appendMessage(message("y"));
      expect(await session.getCompactions()).toEqual([]);
    }
  });

  it("waits for no counter and no block longer than for a compact function, and after that not at all", async ({
    session,
  }) => {
    const failures: unknown[] = [];
    let silent = false;
    const get = () => (silent ? new Promise<string>(() => {}) : Promise.resolve("said"));
    session
      .withContext("own", { provider: { get } })
      .onCompaction(allBut(1), { timeout: 30 })
      .compactAfter(estimateTokens(long(3)) + 100)
      .onCompactionError((error) => {
        failures.push(error);
      });
    await session.freezeSystemPrompt();
    silent = true;
    await session.appendAll(long(6));
    expect((await session.getCompactions()).length).toBe(1);
    expect(failures.map((error) => (error as { code?: string }).code)).toEqual(["COMPACTION_TIMEOUT"]);
  });

  it("waits for the provider of the prompt no longer than for a compact function", async ({ session }) => {
    const failures: unknown[] = [];
    session
      .withCachedPrompt({ get: () => new Promise<string>(() => {}), set: async () => {} })
      .onCompaction(allBut(1), { timeout: 30 })
      .onCompactionError((error) => {
        failures.push(error);
      });
    await session.appendAll(long(6));
    expect((await session.compact())?.summary.length).toBeAtLeast(1);
    expect(failures.map((error) => (error as { code?: string }).code)).toEqual(["COMPACTION_TIMEOUT"]);
  });

  it("estimates where neither blocks nor the counter answer", async ({ store }) => {
    const failures: unknown[] = [];
    let asked = 0;
    const session = Session.create(store)
      .forSession("silent")
      .withContext("own", { provider: { get: () => new Promise<string>(() => {}) } })
      .onCompaction(allBut(1))
      .compactAfter(1e9, {
        timeout: 20,
        tokenCounter: () => {
          asked += 1;
          return new Promise<number>(() => {});
        },
      })
      .onCompactionError((error) => {
        failures.push(error);
      });
    for (const each of long(3)) await session.appendMessage(each);
    expect(asked).toBe(1);
    expect(failures.map((error) => (error as { code?: string }).code)).toEqual([
      "COMPACTION_TIMEOUT",
      "COMPACTION_TIMEOUT",
    ]);
    expect(await session.getPathLength()).toBe(3);
  });

  it("refuses a timeout that is no number of milliseconds above 0", async ({ session }) => {
    for (const timeout of [0, -1, Number.NaN, "1000" as unknown as number]) {
      for (const configure of [
        () => session.onCompaction(allBut(1), { timeout }),
        () => session.compactAfter(1000, { timeout }),
      ]) {
        await expectError((async () => configure())(), "INVALID_ARGUMENT");
      }
    }
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

  it("stores nothing when the range was edited while the model was summarising", async ({ session, sessionOf }) => {
    const other = sessionOf("main");
    session.onCompaction(async (messages) => {
      await other.deleteMessages(["m000002"]);
      return allBut(1)(messages, {});
    });
    await session.appendAll(long(6));
    expect(await session.compact()).toBe(null);
    expect(await session.getCompactions()).toEqual([]);
  });

  it("hides no edit made while the model was summarising, in 200 races", async (workspace) => {
    const { session, target } = workspace;
    const other = workspace.sessionOf("main");
    const elsewhere = capabilitiesOf(target).durable ? (await workspace.connect()).session : other;
    let hidden = 0;
    let race = 0;
    session.onCompaction(async (messages) => {
      const result = await allBut(1)(messages, {});
      const edited = message("m000002", `m000002 ${"says something else ".repeat(12)}${race}`);
      const edit = async (by: Session) => {
        if (race % 3 === 0) await by.updateMessage(edited);
        else if (race % 3 === 1) await by.upsertMessage({ ...edited, role: race % 2 ? "user" : "assistant" });
        else {
          // Undone, and said again in other words.
          await by.deleteMessages(["m000005"]);
          await by.deleteMessages(["m000004"]);
          await by.appendAll([message("m000004", edited.parts[0]?.text), message("m000005", `end ${race}`)]);
        }
      };
      // Another connection is waited for; through one store, calls take effect in the order in which they were made.
      if (race % 2 === 0) await edit(elsewhere);
      else if (race % 3 === 2) await edit(other);
      else edit(other).catch(() => {});
      for (let ticks = race % 7; ticks > 0; ticks -= 1) await Promise.resolve();
      return result;
    });
    await session.appendAll(long(6));
    for (; race < 200; race += 1) if ((await session.compact()) !== null) hidden += 1;
    expect(hidden).toBe(0);
    expect(await session.getCompactions()).toEqual([]);
    expect((await session.getHistory()).length).toBe(6);
  });

  it("stores nothing when a skill in the range was unloaded while the model was summarising", async (workspace) => {
    const skills = { get: async () => "- guide: how to", load: async () => "the whole guide ".repeat(20) };
    const session = workspace.sessionOf("main").withContext("skills", { provider: skills });
    const { load_context, unload_context } = await session.tools();
    const options = { toolCallId: "call", messages: [] };
    const output = await load_context?.execute({ label: "skills", key: "guide" }, options);
    const input = { label: "skills", key: "guide" };
    const loaded = { type: "tool-load_context", toolCallId: "call", state: "output-available", input, output };
    await session.appendAll([...long(2), { id: "loaded", role: "assistant", parts: [loaded] }, ...long(2, "later")]);
    const compactor = workspace.sessionOf("main").onCompaction(async (messages) => {
      await unload_context?.execute(input, options);
      return allBut(1)(messages, {});
    });
    expect(await compactor.compact()).toBe(null);
    // Nothing is left to unload: what is seen now is what is stored.
    expect((await compactor.compact())?.summary).toBe("summary");
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

  it("stores nothing when a newer compaction covers the range by then", async ({ session, sessionOf }) => {
    const other = sessionOf("main");
    session.onCompaction(async (messages) => {
      await other.addCompaction("newer", "m000001", "m000002");
      return allBut(1)(messages, {});
    });
    await session.appendAll(long(6));
    expect(await session.compact()).toBe(null);
    expect((await session.getCompactions()).map(({ summary }) => summary)).toEqual(["newer"]);
  });

  it("stores the compaction when messages were appended while the model was summarising", async ({
    session,
    sessionOf,
  }) => {
    const other = sessionOf("main");
    session.onCompaction(async (messages) => {
      await other.appendMessage(message("late"));
      return allBut(1)(messages, {});
    });
    await session.appendAll(long(6));
    expect((await session.compact())?.summary).toBe("summary");
    expect(await historyIds(session).then((ids) => ids.slice(1))).toEqual(["m000005", "late"]);
  });

  it("calls the model once for concurrent compactions of one session", async ({ session, sessionOf, manager }) => {
    let calls = 0;
    const compact: CompactFunction = async (messages) => {
      calls += 1;
      await Promise.resolve();
      return allBut(1)(messages, {});
    };
    session.onCompaction(compact);
    const other = sessionOf("main").onCompaction(compact);
    await session.appendAll(long(6));
    const [first, second] = await Promise.all([session.compact(), other.compact(), session.compact()]);
    expect(calls).toBe(1);
    expect(second).toEqual(first);
    expect((await manager.getCompactions("main")).length).toBe(1);
  });

  it("shares a compaction with callers that name its leaf, and not with those of another branch", async (workspace) => {
    const { session } = workspace;
    const seen: string[] = [];
    session.onCompaction(async (messages) => {
      seen.push(messages.at(-1)?.id ?? "");
      await new Promise((resolve) => setTimeout(resolve, 50));
      return allBut(1)(messages, {});
    });
    await session.appendAll(long(6));
    await session.appendAll(long(6, "other"), null);
    const [active, named, branch] = await Promise.all([
      session.compact(),
      session.compact("other000005"),
      session.compact("m000005"),
    ]);
    expect(seen.sort()).toEqual(["m000005", "other000005"]);
    expect(named).toEqual(active);
    expect(branch?.fromMessageId).toBe("m000000");
  });

  it("stores one compaction when two connections compact at the same time", ["durable"], async (workspace) => {
    const connections = [workspace, await workspace.connect(), await workspace.connect()];
    await workspace.sessionOf("main").appendAll(long(6));
    let waiting = connections.length;
    let release = () => {};
    const together = new Promise<void>((resolve) => {
      release = resolve;
    });
    const compact: CompactFunction = async (messages) => {
      waiting -= 1;
      if (waiting === 0) release();
      await together;
      return allBut(1)(messages, {});
    };
    const results = await Promise.all(connections.map(({ session }) => session.onCompaction(compact).compact()));
    expect(results.filter((result) => result !== null).length).toBe(1);
    expect((await workspace.session.getCompactions()).length).toBe(1);
  });

  it("compacts by itself once the estimate exceeds compactAfter", async ({ session }) => {
    const size = estimateTokens(long(1));
    session.onCompaction(allBut(1)).compactAfter(4 * size);
    for (const each of long(4)) await session.appendMessage(each);
    expect(await session.getCompactions()).toEqual([]);
    await session.appendMessage(message("over", "one too many"));
    expect((await session.getCompactions()).length).toBe(1);
    expect(await historyTexts(session)).toEqual(["summary", "one too many"]);
  });

  it("counts the prompt towards the threshold, frozen or not", async ({ sessionOf }) => {
    for (const freeze of [true, false]) {
      const text = "words ".repeat(1000);
      const session = sessionOf(freeze ? "frozen" : "never-frozen")
        .withContext("soul", { provider: { get: async () => text } })
        .onCompaction(allBut(1))
        .compactAfter(1700);
      const prompt = freeze ? await session.freezeSystemPrompt() : null;
      const estimates: number[] = [];
      session.subscribe((event) => {
        if (event.type === "cf_agent_session") estimates.push(event.tokenEstimate);
      });
      await session.appendAll(long(1));
      expect(await session.getCompactions()).toEqual([]);
      await session.appendAll(long(4, "more"));
      expect((await session.getCompactions()).length).toBe(1);
      // What the trigger counted is what is told, before and after.
      const prompted = estimateStringTokens(prompt ?? (await session.freezeSystemPrompt()));
      const first = estimateTokens(long(1));
      const all = estimateTokens([...long(1), ...long(4, "more")]);
      const left = estimateTokens(await session.getHistory());
      expect(estimates).toEqual([first, all, all, left].map((tokens) => tokens + prompted));
    }
  });

  it("asks no provider twice for the count, and leaves blocks as unread as they were", async ({ sessionOf }) => {
    const asked: string[] = [];
    const provider = (label: string, content = `what ${label} holds`) => ({
      get: async () => {
        asked.push(label);
        return content;
      },
      set: async () => {},
    });
    const session = sessionOf("s")
      .withContext("soul", { provider: { get: provider("soul").get } })
      .withContext("notes", { provider: provider("notes") })
      .withCachedPrompt({ get: provider("prompt", "").get, set: async () => {} })
      .onCompaction(async () => null)
      .compactAfter(1_000_000);
    const estimates: number[] = [];
    session.subscribe((event) => {
      if (event.type === "cf_agent_session") estimates.push(event.tokenEstimate);
    });
    await chain(session, ["a", "b", "c"]);
    expect(asked.sort()).toEqual(["notes", "prompt", "soul"]);
    await expectError((async () => session.getContextBlock("notes"))(), "CONTEXT_NOT_LOADED");
    await session.replaceContextBlock("notes", "many more words than there were before");
    asked.length = 0;
    await chain(session, ["d", "e"]);
    expect(asked).toEqual([]);
    const prompt = await session.freezeSystemPrompt();
    expect(estimates.at(-1)).toBe(estimateTokens(await session.getHistory()) + estimateStringTokens(prompt));
  });

  it("stores writes whose count meets a provider that fails, or that calls the session", async ({ sessionOf }) => {
    let calls = 0;
    const session: Session = sessionOf("s")
      .withContext("broken", { provider: { get: () => Promise.reject(new RangeError("the disk is gone")) } })
      .withContext("busy", {
        provider: {
          get: async () => {
            calls += 1;
            await session.appendMessage(message("from the provider"));
            return "words ".repeat(1000);
          },
        },
      })
      .onCompaction(allBut(1))
      .compactAfter(1000);
    await session.appendMessage(message("a"));
    await session.appendAll(long(3));
    expect(calls).toBe(1);
    // The block that can be read counts.
    expect((await session.getCompactions()).length).toBe(1);
    expect(await session.getPathLength()).toBe(5);
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

  it("reports once that compactAfter has no function to compact with", async ({ session }) => {
    session.compactAfter(estimateTokens(long(2)));
    const { failures, events } = observed(session);
    await session.appendAll(long(2));
    expect(failures).toEqual([]);
    for (const each of long(3, "more")) expect((await session.appendMessage(each)).inserted).toBe(true);
    expect(failures.map((error) => (error as { code?: string }).code)).toEqual(["COMPACTION_NOT_CONFIGURED"]);
    expect(events.length).toBe(1);
  });

  it("counts by the estimate where a tokenCounter gives no count or throws, and tells so once", async (workspace) => {
    const wrong: [string, () => number][] = [
      ["nan", () => Number.NaN],
      ["infinity", () => Number.POSITIVE_INFINITY],
      ["negative", () => -1],
      ["nothing", () => undefined as unknown as number],
      ["text", () => "12" as unknown as number],
      [
        "throws",
        () => {
          throw new RangeError("no tokenizer");
        },
      ],
    ];
    for (const [name, tokenCounter] of wrong) {
      const measured: (number | undefined)[] = [];
      const session = workspace
        .sessionOf(name)
        .onCompaction(async (messages, context) => {
          measured.push(await context?.tokenCounter?.(messages.slice(0, 2)));
          measured.push(await context?.tokenCounter?.({ messages: messages.slice(0, 1), systemPrompt: "one two" }));
          return allBut(1)(messages, context);
        })
        .compactAfter(estimateTokens(long(3)), { tokenCounter });
      const { failures, events } = observed(session);
      for (const each of long(3)) await session.appendMessage(each);
      expect(await session.getCompactions()).toEqual([]);
      await session.appendMessage(message("x"));
      expect((await session.getCompactions()).length).toBe(1);
      expect(measured).toEqual([estimateTokens(long(2)), estimateTokens(long(1)) + estimateStringTokens("one two")]);
      expect([failures.length, events.length]).toEqual([1, 1]);
    }
  });

  it("counts by the estimate where the counter of createCompactFunction is wrong, and tells so once", async (workspace) => {
    const range = async (id: string, tokenCounter?: () => number) => {
      const summarize = async () => "A summary.";
      const options = { summarize, tokenCounter, protectHead: 1, minTailMessages: 1, tailTokenBudget: 150 };
      const session = workspace.sessionOf(id).onCompaction(createCompactFunction(options));
      const { failures } = observed(session);
      await session.appendAll(long(12));
      const results = [await session.compact(), await session.compact()];
      return { results, told: failures.length };
    };
    const estimated = await range("estimated");
    expect(estimated.results[0]?.summary).toBe("A summary.");
    expect(await range("wrong", () => Number.NaN)).toEqual({ ...estimated, told: 1 });
  });

  it("tells by a tokenCounter what it decides by", async ({ sessionOf }) => {
    const tokenCounter = ({ messages, contextBlocks }: TokenCounterInput) =>
      messages.length * 100 + contextBlocks.length * 7;
    const session = sessionOf("s").withContext("memory").onCompaction(allBut(1)).compactAfter(399, { tokenCounter });
    const told: unknown[] = [];
    session.subscribe((event) => {
      if (event.type !== "cf_agent_session") return;
      told.push([event.phase, event.tokenEstimate, event.compacted?.tokensBefore]);
    });
    await session.appendAll(long(3));
    await session.appendMessage(message("x"));
    expect(told).toEqual([
      ["idle", 307, undefined],
      ["idle", 407, undefined],
      ["compacting", 407, undefined],
      ["idle", 207, 407],
    ]);
    told.length = 0;
    await session.appendMessage(message("y"));
    await session.compact();
    expect(told).toEqual([
      ["idle", 307, undefined],
      ["compacting", 307, undefined],
      ["idle", 207, 307],
    ]);
  });

  it("compacts after appendAll and upsert too", async ({ sessionOf }) => {
    for (const write of ["appendAll", "upsert"] as const) {
      const session = sessionOf(write)
        .onCompaction(allBut(1))
        .compactAfter(estimateTokens(long(3)));
      await session.appendAll(long(3));
      if (write === "appendAll") await session.appendAll([message("x"), message("y")]);
      else await session.upsertMessage(message("x"));
      expect((await session.getCompactions()).length).toBe(1);
    }
  });

  it("keeps a write whose compaction fails, and tells onCompactionError", async ({ sessionOf }) => {
    const failures: unknown[] = [];
    const session = sessionOf("s")
      .onCompaction(async () => {
        throw new RangeError("the model is away");
      })
      .compactAfter(1)
      .onCompactionError((error) => {
        failures.push(error);
        throw new TypeError("the handler fails as well");
      });
    expect((await session.appendMessage(message("a"))).inserted).toBe(true);
    expect(failures.length).toBe(1);
    expect(failures[0] instanceof RangeError).toBe(true);
    expect(await historyIds(session)).toEqual(["a"]);
  });

  it("gives a custom tokenCounter the messages, the prompt and the blocks", async ({ sessionOf }) => {
    const inputs: TokenCounterInput[] = [];
    const session = sessionOf("s")
      .withContext("memory", { maxTokens: 100 })
      .onCompaction(allBut(1))
      .compactAfter(100, {
        tokenCounter: async (input) => {
          inputs.push(input);
          return input.messages.length > 3 ? 101 : 100;
        },
      });
    await session.replaceContextBlock("memory", "coffee");
    const prompt = await session.freezeSystemPrompt();
    await session.appendAll(long(3));
    expect(inputs.length).toBe(1);
    expect(inputs[0]?.messages).toEqual(long(3));
    expect(inputs[0]?.systemPrompt).toBe(prompt);
    expect(inputs[0]?.contextBlocks.map(({ label, content }) => [label, content])).toEqual([["memory", "coffee"]]);
    expect(await session.getCompactions()).toEqual([]);
    await session.appendMessage(message("x"));
    expect((await session.getCompactions()).length).toBe(1);
  });

  it("hands the tokenCounter on to the compact function", async ({ sessionOf }) => {
    let measured: (number | undefined)[] = [];
    const session: Session = sessionOf("s")
      .onCompaction(async (messages, context) => {
        const tokenCounter = context?.tokenCounter;
        const contextBlocks = session.getContextBlocks();
        measured = [
          await tokenCounter?.(messages.slice(0, 2)),
          await tokenCounter?.({ messages, systemPrompt: "a prompt", contextBlocks }),
        ];
        return null;
      })
      .compactAfter(1_000_000, {
        tokenCounter: ({ messages, systemPrompt, contextBlocks }) =>
          messages.length * 7 + systemPrompt.length + contextBlocks.length,
      });
    await session.freezeSystemPrompt();
    await session.appendAll(long(3));
    await session.compact();
    expect(measured).toEqual([14, 29]);
  });

  it("pauses after three compactions in a row that gained nothing, says so once, and goes on when it grew by half", async (workspace) => {
    let calls = 0;
    const failures: unknown[] = [];
    const session = workspace
      .sessionOf("s")
      .onCompaction(async () => {
        calls += 1;
        return null;
      })
      .compactAfter(1)
      .onCompactionError((error) => {
        failures.push((error as { code?: string }).code);
      });
    const ids = numbered("m", 40);
    await session.appendAll(long(8, "start"));
    await session.appendMessage(message(ids[0] as string));
    expect(failures).toEqual([]);
    await session.appendMessage(message(ids[1] as string));
    expect([calls, failures]).toEqual([3, ["COMPACTION_NO_GAIN"]]);
    await session.appendMessage(message(ids[2] as string));
    expect([calls, failures]).toEqual([3, ["COMPACTION_NO_GAIN"]]);
    await session.appendAll(long(8, "more"));
    expect([calls, failures]).toEqual([4, ["COMPACTION_NO_GAIN"]]);
  });

  it("ends the pause when the history has grown by half, and not before", async ({ session }) => {
    let calls = 0;
    let size = 100;
    session
      .onCompaction(async () => {
        calls += 1;
        return null;
      })
      .compactAfter(1, { tokenCounter: () => size });
    await chain(session, ["a", "b", "c", "d"]);
    expect(calls).toBe(3);
    size = 149;
    await chain(session, ["e"]);
    expect(calls).toBe(3);
    size = 150;
    await chain(session, ["f"]);
    expect(calls).toBe(4);
  });

  it("does not pause when a compaction in between gained something", async ({ session }) => {
    const gains = [false, false, true, false, false, true, false, false, false];
    const failures: unknown[] = [];
    let calls = 0;
    session
      .onCompaction(async (messages) => {
        calls += 1;
        return gains[calls - 1] ? allBut(1)(messages, {}) : null;
      })
      .compactAfter(1)
      .onCompactionError((error) => {
        failures.push((error as { code?: string }).code);
      });
    for (const each of long(8)) await session.appendMessage(each);
    expect([calls, failures]).toEqual([8, []]);
    await session.appendMessage(message("last"));
    expect([calls, failures]).toEqual([9, ["COMPACTION_NO_GAIN"]]);
    expect((await session.getCompactions()).length).toBe(2);
  });

  it("does not pause for compactions that failed or whose range was edited meanwhile", async ({
    session,
    sessionOf,
  }) => {
    const other = sessionOf("main");
    const failures: unknown[] = [];
    let calls = 0;
    session
      .onCompaction(async (messages, context) => {
        calls += 1;
        if (calls % 2 === 0) throw new RangeError("the model is away");
        await other.updateMessage(message("m000001", `${"says something else ".repeat(20)}${calls}`));
        return allBut(1)(messages, context);
      })
      .compactAfter(estimateTokens(long(4)) - 1)
      .onCompactionError((error) => {
        failures.push(error);
      });
    await session.appendAll(long(4));
    for (const each of long(7, "more")) await session.appendMessage(each);
    expect(calls).toBe(8);
    expect(failures.every((error) => error instanceof RangeError)).toBe(true);
    expect([failures.length, (await session.getCompactions()).length]).toEqual([4, 0]);
  });

  it("lets a compact function write to the session that it compacts", async ({ session }) => {
    session
      .onCompaction(async (messages) => {
        await session.appendMessage(message("note of the compactor"));
        return allBut(1)(messages, {});
      })
      .compactAfter(estimateTokens(long(3)));
    await session.appendAll(long(3));
    await session.appendMessage(message("x"));
    expect((await session.getCompactions()).length).toBe(1);
    expect((await historyIds(session)).slice(1)).toEqual(["x", "note of the compactor"]);
  });

  it("counts one compaction for the writes that come while it runs", async ({ sessionOf }) => {
    let calls = 0;
    const failures: unknown[] = [];
    const session: Session = sessionOf("s")
      .onCompaction(async () => {
        calls += 1;
        // However long the store takes, the others are written before it ends.
        do await new Promise((resolve) => setTimeout(resolve, 30));
        while ((await session.getPathLength()) < 10);
        return null;
      })
      .compactAfter(1)
      .onCompactionError((error) => {
        failures.push(error);
      });
    await Promise.all(numbered("m", 10).map((id) => session.appendMessage(message(id))));
    expect([calls, failures.length]).toEqual([1, 0]);
  });

  it("reports its phases to subscribers", async ({ sessionOf }) => {
    const session = sessionOf("s")
      .onCompaction(allBut(1))
      .compactAfter(estimateTokens(long(3)));
    const seen: SessionStatusEvent[] = [];
    session.subscribe((event) => {
      if (event.type === "cf_agent_session") seen.push(event);
    });
    await session.appendAll(long(3));
    expect(seen.map(({ phase, tokenEstimate }) => [phase, tokenEstimate])).toEqual([["idle", estimateTokens(long(3))]]);
    expect(seen[0]?.tokenThreshold).toBe(estimateTokens(long(3)));
    seen.length = 0;
    await session.appendMessage(message("x"));
    const compacted = seen.filter((event) => event.compacted !== undefined);
    expect(seen.some(({ phase }) => phase === "compacting")).toBe(true);
    expect(compacted.length).toBe(1);
    expect(compacted[0]?.compacted?.tokensBefore).toBe(estimateTokens([...long(3), message("x")]));
    expect(seen.at(-1)?.phase).toBe("idle");
    expect(seen.at(-1)?.tokenEstimate).toBe(estimateTokens(await session.getHistory()));
  });

  it("reports to subscribers what an automatic compaction failed with", async ({ session }) => {
    session
      .onCompaction(async () => {
        throw new RangeError("the model is away");
      })
      .compactAfter(1);
    const errors: string[] = [];
    session.subscribe((event) => {
      if (event.type === "cf_agent_session_error") errors.push(event.error);
    });
    await session.appendMessage(message("a"));
    expect(errors).toEqual(["the model is away"]);
  });
});

/** What a session tells `onCompactionError` and its subscribers of failures, from now on. */
function observed(session: Session): { failures: unknown[]; events: string[] } {
  const failures: unknown[] = [];
  const events: string[] = [];
  session.onCompactionError((error) => {
    failures.push(error);
  });
  session.subscribe((event) => {
    if (event.type === "cf_agent_session_error") events.push(event.error);
  });
  return { failures, events };
}

/** Messages that a summary is shorter than. */
function long(count: number, prefix = "m"): SessionMessage[] {
  return numbered(prefix, count).map((id) => message(id, `${id} ${"says a lot ".repeat(20)}`));
}

function textsOf(messages: readonly SessionMessage[]): string[] {
  return messages.map(({ parts }) => parts[0]?.text ?? "");
}

/** Summarises everything but the last `keep` messages. */
function allBut(keep: number): CompactFunction {
  return async (messages) => {
    const from = messages[0];
    const to = messages.at(-1 - keep);
    if (from === undefined || to === undefined || messages.length < 3) return null;
    return { fromMessageId: from.id, toMessageId: to.id, summary: "summary" };
  };
}
