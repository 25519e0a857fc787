import { createCompactFunction, estimateTokens } from "@stemma/model";
import type { Session, SessionStatusEvent } from "@stemma/session";
import { expect } from "../assert.js";
import { chain, historyIds, historyTexts, message, numbered } from "../samples.js";
import { defineTopic } from "../topic.js";
import { allBut, long, observed } from "./compact-samples.js";

/** When a session compacts by itself, when that pauses, and what it tells of it. */
export const automaticCompaction = defineTopic("automatic compaction", (it) => {
  it("compacts by itself once the estimate exceeds compactAfter", async ({ session }) => {
    const size = estimateTokens(long(1));
    session.onCompaction(allBut(1)).compactAfter(4 * size);
    for (const each of long(4)) await session.appendMessage(each);
    expect(await session.getCompactions()).toEqual([]);
    await session.appendMessage(message("over", "one too many"));
    expect((await session.getCompactions()).length).toBe(1);
    expect(await historyTexts(session)).toEqual(["summary", "one too many"]);
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

  it("pauses after three compactions in a row that gained nothing, says so once, and goes on when half of it has come anew", async (workspace) => {
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

  it("ends the pause when half of the history has come anew by the counter, and not before", async ({ session }) => {
    let calls = 0;
    let size = 200;
    session
      .onCompaction(async () => {
        calls += 1;
        return null;
      })
      .compactAfter(100, { tokenCounter: ({ messages }) => (messages.length === 8 ? 0 : size) });
    // The estimate hardly grows with what follows.
    await session.appendAll(long(8));
    await chain(session, ["a", "b", "c"]);
    expect(calls).toBe(3);
    const half = estimateTokens(await session.getHistory()) / 2;
    size = 200 + Math.floor(half) - 1;
    await chain(session, ["d"]);
    expect(calls).toBe(3);
    size = 200 + Math.ceil(half);
    await chain(session, ["e"]);
    expect(calls).toBe(4);
  });

  it("keeps the history small whatever is passed to a counter that gives one total", async ({ session }) => {
    let calls = 0;
    const summarize = async () => {
      calls += 1;
      return "what was said";
    };
    session
      .onCompaction(createCompactFunction({ summarize, protectHead: 1, tailTokenBudget: 1000, minTailMessages: 3 }))
      .compactAfter(5000, { tokenCounter: async () => 6000 });
    for (const each of long(100)) await session.appendMessage(each);
    // With half of the threshold of new text, as estimated, it is down to head, summary and the least tail.
    const half = Math.ceil(2500 / estimateTokens(long(1)));
    expect((await session.getHistory()).length).toBeAtMost(5 + half);
    expect(calls).toBe(Math.floor(97 / half));
  });

  it("compacts once for each half of the threshold of new text, whatever a compaction leaves, and says so once", async ({
    session,
  }) => {
    let calls = 0;
    const size = estimateTokens(long(1));
    session
      .onCompaction(async (messages, context) => {
        calls += 1;
        return allBut(12)(messages, context);
      })
      .compactAfter(10 * size);
    const { failures } = observed(session);
    for (const each of long(30)) await session.appendMessage(each);
    // At 11 and 12 there is nothing to compact; there is at 13, and then once for five messages.
    expect(calls).toBe(6);
    expect(failures.map((error) => (error as { code?: string }).code)).toEqual(["COMPACTION_NO_ROOM"]);
    const { message: text, details } = failures[0] as { message: string; details: Record<string, number> };
    expect(text).toInclude(`more than half of compactAfter(${10 * size})`);
    expect([details.threshold, details.prompt, details.head, details.tail]).toEqual([10 * size, 0, 0, 12 * size]);
    expect(details.tokens).toBe(12 * size + (details.summary ?? 0));
  });

  it("says once that the prompt and the messages that are never summarised alone exceed the threshold", async ({
    session,
  }) => {
    session
      .withContext("soul", { provider: { get: async () => "words ".repeat(100) } })
      .onCompaction(createCompactFunction({ summarize: async () => "what was said", protectHead: 2 }))
      .compactAfter(200);
    const { failures } = observed(session);
    for (const each of long(12)) await session.appendMessage(each);
    const told = failures.map((error) => error as { code?: string; message?: string });
    expect(told.map(({ code }) => code)).toEqual(["COMPACTION_NO_ROOM"]);
    expect(told[0]?.message ?? "").toInclude("alone exceed compactAfter(200)");
    expect((await session.getCompactions()).length > 0).toBe(true);
  });

  it("rests in another session object, too", async ({ sessionOf }) => {
    let calls = 0;
    const size = estimateTokens(long(1));
    for (const each of long(40)) {
      const session = sessionOf("s")
        .onCompaction(async (messages, context) => {
          calls += 1;
          return allBut(12)(messages, context);
        })
        .compactAfter(10 * size)
        .onCompactionError(() => {});
      await session.appendMessage(each);
    }
    expect(calls).toBe(8);
  });

  it("tries again at the next write what failed, but after three failures in a row rests as well", async ({
    session,
  }) => {
    let calls = 0;
    session
      .onCompaction(async () => {
        calls += 1;
        throw new RangeError("the model is away");
      })
      .compactAfter(estimateTokens(long(4)));
    const { failures } = observed(session);
    for (const each of long(7)) await session.appendMessage(each);
    expect(calls).toBe(3);
    for (const each of long(3, "more")) await session.appendMessage(each);
    expect(calls).toBe(3);
    await session.appendAll(long(1, "last"));
    expect(calls).toBe(4);
    expect((failures[3] as { code?: string }).code).toBe("COMPACTION_NO_GAIN");
  });

  it("does not pause when a compaction in between gained something", async ({ session }) => {
    const gains = [false, false, true, false, false, true, false, false, false];
    const failures = new Set<unknown>();
    let calls = 0;
    session
      .onCompaction(async (messages) => {
        calls += 1;
        return gains[calls - 1] ? allBut(1)(messages, {}) : null;
      })
      .compactAfter(1)
      .onCompactionError((error) => {
        failures.add((error as { code?: string }).code);
      });
    for (const each of long(8)) await session.appendMessage(each);
    expect([calls, failures.has("COMPACTION_NO_GAIN")]).toEqual([8, false]);
    await session.appendMessage(message("last"));
    expect([calls, failures.has("COMPACTION_NO_GAIN")]).toEqual([9, true]);
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

  it("counts one compaction for the writes that come while it runs", async ({ sessionOf }) => {
    let calls = 0;
    const failures: unknown[] = [];
    const session: Session = sessionOf("s")
      .onCompaction(async () => {
        calls += 1;
        // However long the store takes, the others are written before it ends.
        const wait = (time: number) => new Promise((resolve) => setTimeout(resolve, time));
        do await wait(30);
        while ((await session.getPathLength()) < 10);
        // What is stored is seen before the call that wrote it has ended.
        await wait(200);
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
