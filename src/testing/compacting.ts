// One topic of the suite: its cases, one after the other.
import type { CompactFunction, CompactResult } from "../compaction/compact.js";
import type { SessionMessage } from "../model/message.js";
import { estimateTokens } from "../model/tokens.js";
import type { TokenCounterInput } from "../session/compactor.js";
import type { SessionStatusEvent } from "../session/events.js";
import type { Session } from "../session/session.js";
import { expect, expectError } from "./assert.js";
import { chain, historyIds, historyTexts, idsOf, message, numbered } from "./samples.js";
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

  it("fails compact() with what the function throws, and stores nothing", async ({ session }) => {
    session.onCompaction(async () => {
      throw new RangeError("the model is away");
    });
    await session.appendAll(long(5));
    const error = await session.compact().then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error instanceof RangeError).toBe(true);
    expect(await session.getCompactions()).toEqual([]);
  });

  it("refuses a range that the function made up", async ({ session }) => {
    session.onCompaction(async () => ({ fromMessageId: "m000003", toMessageId: "m000001", summary: "s" }));
    await session.appendAll(long(5));
    await expectError(session.compact(), "COMPACTION_INVALID_RANGE");
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

  it("stores nothing when a newer overlay covers the range by then", async ({ session, sessionOf }) => {
    const other = sessionOf("main");
    session.onCompaction(async (messages) => {
      await other.addCompaction("newer", "m000001", "m000002");
      return allBut(1)(messages, {});
    });
    await session.appendAll(long(6));
    expect(await session.compact()).toBe(null);
    expect((await session.getCompactions()).map(({ summary }) => summary)).toEqual(["newer"]);
  });

  it("stores the overlay when messages were appended while the model was summarising", async ({
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

  it("stores one overlay when two connections compact at the same time", ["durable"], async (workspace) => {
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

  it("counts the frozen prompt towards the threshold", async ({ sessionOf }) => {
    const session = sessionOf("s")
      .withContext("soul", { provider: { get: async () => "words ".repeat(1000) } })
      .onCompaction(allBut(1))
      .compactAfter(1000);
    await session.appendMessage(message("a"));
    await session.appendMessage(message("b"));
    expect(await session.getCompactions()).toEqual([]);
    await session.freezeSystemPrompt();
    await session.appendMessage(message("c", "words ".repeat(50)));
    await session.appendMessage(message("d", "words ".repeat(50)));
    expect((await session.getCompactions()).length > 0).toBe(true);
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
    let measured: number | undefined;
    const session = sessionOf("s")
      .onCompaction(async (messages, context) => {
        measured = await context?.tokenCounter?.(messages.slice(0, 2));
        return null;
      })
      .compactAfter(1_000_000, { tokenCounter: ({ messages }) => messages.length * 7 });
    await session.appendAll(long(3));
    await session.compact();
    expect(measured).toBe(14);
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
