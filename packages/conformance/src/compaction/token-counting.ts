import { createCompactFunction, estimateStringTokens, estimateTokens } from "@stemma/model";
import type { Session, TokenCounterInput } from "@stemma/session";
import { expect, expectError } from "../assert.js";
import { chain, message } from "../samples.js";
import { defineTopic } from "../topic.js";
import { allBut, long, observed } from "./compact-samples.js";

/** Counting tokens to decide whether to compact, and by which counter. */
export const tokenCounting = defineTopic("token counting", (it) => {
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

  it("leaves out of messages alone what a counter adds to each request, and tells it with the prompt", async ({
    sessionOf,
  }) => {
    let measured: (number | undefined)[] = [];
    const session: Session = sessionOf("s")
      .onCompaction(async (messages, context) => {
        const { tokenCounter, promptTokens, tokenThreshold } = context ?? {};
        measured = [await tokenCounter?.(messages.slice(0, 2)), promptTokens, tokenThreshold];
        return null;
      })
      .compactAfter(1_000_000, { tokenCounter: ({ messages }) => 50_000 + messages.length * 7 });
    await session.appendAll(long(3));
    await session.compact();
    expect(measured).toEqual([14, 50_000, 1_000_000]);
  });
});
