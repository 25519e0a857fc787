import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  alignBoundaryBackward,
  alignBoundaryForward,
  findSafeCuts,
  findTailStart,
} from "../../../src/compaction/boundary.js";
import type { SessionMessage, SessionMessagePart } from "../../../src/messages/message.js";
import { readToolPart } from "../../../src/messages/tool-parts.js";

const history = (...parts: SessionMessagePart[][]): SessionMessage[] =>
  parts.map((each, index) => ({ id: `m${index}`, role: "assistant", parts: each }));
const text: SessionMessagePart = { type: "text", text: "hello" };
const call = (toolCallId: string): SessionMessagePart => ({ type: "tool-call", toolCallId, toolName: "x", input: {} });
const result = (toolCallId: string): SessionMessagePart => ({
  type: "tool-result",
  toolCallId,
  toolName: "x",
  output: 1,
});
const both = (toolCallId: string): SessionMessagePart => ({
  type: "tool-x",
  toolCallId,
  state: "output-available",
  input: {},
  output: 1,
});
const safe = (messages: SessionMessage[]) => findSafeCuts(messages).flatMap((isSafe, cut) => (isSafe ? [cut] : []));

describe("findSafeCuts", () => {
  it("allows every cut where there are no tools, and none inside a pair", () => {
    expect(safe([])).toEqual([0]);
    expect(safe(history([text], [text]))).toEqual([0, 1, 2]);
    expect(safe(history([text], [call("a")], [result("a")], [text]))).toEqual([0, 1, 3, 4]);
  });

  it("allows cuts around a message that holds both", () => {
    expect(safe(history([both("a")], [text], [both("b")]))).toEqual([0, 1, 2, 3]);
  });

  it("pairs parts of different kinds by their id", () => {
    const pending: SessionMessagePart = { type: "tool-w", toolCallId: "a", state: "input-available", input: {} };
    const done: SessionMessagePart = { type: "tool-w", toolCallId: "a", state: "output-available", output: {} };
    expect(safe(history([text], [pending], [done], [text]))).toEqual([0, 1, 3, 4]);
    const use = { type: "tool_use", id: "a", name: "w", input: {} };
    const answer = { type: "tool_result", tool_use_id: "a", content: "ok" };
    expect(safe(history([use], [answer]))).toEqual([0, 2]);
    expect(safe(history([{ ...pending, type: "dynamic-tool", toolName: "w" }], [result("a")]))).toEqual([0, 2]);
  });

  it("keeps parallel calls with the last of their results", () => {
    expect(safe(history([text], [call("a"), call("b")], [result("b")], [result("a")], [text]))).toEqual([0, 1, 4, 5]);
  });

  it("keeps a call with a result several messages later", () => {
    expect(safe(history([call("a")], [text], [text], [result("a")], [text]))).toEqual([0, 4, 5]);
  });

  it("cuts freely behind a call that the conversation went on without", () => {
    expect(safe(history([text], [call("a")], [text], [text]))).toEqual([0, 1, 2, 3, 4]);
  });

  it("keeps a call that waits for its result with the end", () => {
    expect(safe(history([text], [call("a")]))).toEqual([0, 1]);
    expect(safe(history([text], [call("a"), call("b")], [result("a")]))).toEqual([0, 1]);
  });

  it("gives an id that is used again to the newest call", () => {
    expect(safe(history([both("a")], [text], [both("a")], [text]))).toEqual([0, 1, 2, 3, 4]);
    expect(safe(history([call("a")], [result("a")], [text], [call("a")], [result("a")]))).toEqual([0, 2, 3, 5]);
    expect(safe(history([call("a")], [text], [call("a")], [result("a")], [text]))).toEqual([0, 1, 2, 4, 5]);
  });

  it("takes no notice of a result without a call, nor of parts without an id", () => {
    expect(safe(history([result("a")], [text], [{ type: "tool-x", state: "input-available" }], [text]))).toEqual([
      0, 1, 2, 3, 4,
    ]);
  });

  it("handles a hundred thousand messages", () => {
    const messages = history(
      ...Array.from({ length: 100_000 }, (_, index) => [index % 2 === 0 ? call(`${index}`) : result(`${index - 1}`)]),
    );
    expect(alignBoundaryForward(messages, 50_001)).toBe(50_002);
  });
});

describe("alignBoundaryForward and alignBoundaryBackward", () => {
  it("move out of a pair, in their direction", () => {
    const messages = history([text], [call("a")], [result("a")], [text]);
    expect([0, 1, 2, 3, 4].map((index) => alignBoundaryForward(messages, index))).toEqual([0, 1, 3, 3, 4]);
    expect([0, 1, 2, 3, 4].map((index) => alignBoundaryBackward(messages, index))).toEqual([0, 1, 1, 3, 4]);
  });

  it("stay within the history", () => {
    expect(alignBoundaryForward(history([text]), 9)).toBe(1);
    expect(alignBoundaryBackward(history([text]), 9)).toBe(1);
    expect(alignBoundaryForward(history([text]), -3)).toBe(0);
    expect(alignBoundaryBackward(history([text]), -3)).toBe(0);
  });

  it("never part a call from its result, in any history", () => {
    fc.assert(
      fc.property(randomHistory(), fc.nat(14), ({ messages, pairs }, index) => {
        for (const cut of [alignBoundaryForward(messages, index), alignBoundaryBackward(messages, index)]) {
          for (const { from, to } of pairs) expect(from < cut && cut <= to).toBe(false);
        }
        expect(alignBoundaryBackward(messages, index)).toBeLessThanOrEqual(index);
      }),
      { numRuns: 1_000 },
    );
  });

  it("move no further than they must", () => {
    fc.assert(
      fc.property(randomHistory(), ({ messages, pairs }) => {
        const expected = Array.from(
          { length: messages.length + 1 },
          (_, cut) => !pairs.some(({ from, to }) => from < cut && cut <= to),
        );
        expect(findSafeCuts([...messages, { id: "end", role: "user", parts: [text] }]).slice(0, -1)).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});

describe("findTailStart", () => {
  const words = (count: number): SessionMessagePart => ({ type: "text", text: "x".repeat(count * 4) });
  const messages = history(...Array.from({ length: 10 }, () => [words(96)]));

  it("walks back from the end until the budget is spent", async () => {
    expect(await findTailStart(messages, { tailTokenBudget: 350, minTailMessages: 0 })).toBe(7);
    expect(await findTailStart(messages, { tailTokenBudget: 300, minTailMessages: 0 })).toBe(7);
    expect(await findTailStart(messages, { tailTokenBudget: 99, minTailMessages: 0 })).toBe(10);
    expect(await findTailStart(messages, { tailTokenBudget: 1_000, minTailMessages: 0 })).toBe(0);
  });

  it("keeps the least number of messages whatever they cost", async () => {
    expect(await findTailStart(messages, { tailTokenBudget: 0, minTailMessages: 3 })).toBe(7);
    expect(await findTailStart(messages, { tailTokenBudget: 0, minTailMessages: 30 })).toBe(0);
    expect(await findTailStart([], { tailTokenBudget: 0, minTailMessages: 2 })).toBe(0);
  });

  it("asks the counter about one message at a time, only as far as it must", async () => {
    const seen: string[] = [];
    const tokenCounter = async (asked: SessionMessage[]) => {
      seen.push(asked.map(({ id }) => id).join());
      return 10;
    };
    expect(await findTailStart(messages, { tailTokenBudget: 25, minTailMessages: 1, tokenCounter })).toBe(8);
    expect(seen).toEqual(["m9", "m8", "m7"]);
  });

  it("estimates where the counter throws or does not count, and says so", async () => {
    const options = { tailTokenBudget: 25, minTailMessages: 1 };
    const estimated = await findTailStart(messages, options);
    const away = new RangeError("no tokenizer");
    const counters = [() => Number.NaN, () => Promise.resolve(-1), () => Promise.reject(away)];
    for (const tokenCounter of counters) {
      const errors: unknown[] = [];
      const onCounterError = (error: unknown) => void errors.push(error);
      expect(await findTailStart(messages, { ...options, tokenCounter, onCounterError })).toBe(estimated);
      const expected = tokenCounter === counters[2] ? away : expect.objectContaining({ code: "INVALID_ARGUMENT" });
      expect(errors[0]).toEqual(expected);
      expect(await findTailStart(messages, { ...options, tokenCounter })).toBe(estimated);
    }
  });
});

type Kind = "content" | "static" | "dynamic" | "block";

// A history of interleaved, parallel, self-contained and interrupted calls of every kind of part, and where its pairs lie.
function randomHistory() {
  const exchange = fc.record({
    from: fc.nat(11),
    distance: fc.nat(4),
    kind: fc.constantFrom<Kind>("content", "static", "dynamic", "block"),
    answered: fc.boolean(),
  });
  return fc.array(exchange, { maxLength: 8 }).map((exchanges) => {
    const parts: SessionMessagePart[][] = Array.from({ length: 14 }, () => []);
    exchanges.forEach(({ from, distance, kind, answered }, index) => {
      const to = Math.min(from + distance, 13);
      const [asking, answering] = partsOf(kind, `call-${index}`);
      if (answered && from === to && kind !== "content" && kind !== "block") {
        parts[from]?.push({ ...asking, ...answering });
        return;
      }
      parts[from]?.push(asking);
      if (answered) parts[to]?.push(answering);
    });
    const messages = history(...parts);
    return { messages, pairs: pairsIn(messages) };
  });
}

function partsOf(kind: Kind, id: string): [SessionMessagePart, SessionMessagePart] {
  if (kind === "content") return [call(id), result(id)];
  if (kind === "block") {
    const answer = { type: "tool_result", tool_use_id: id, content: "ok" };
    return [{ type: "tool_use", id, name: "x", input: {} } as SessionMessagePart, answer];
  }
  const name = kind === "static" ? { type: "tool-x" } : { type: "dynamic-tool", toolName: "x" };
  return [
    { ...name, toolCallId: id, state: "input-available", input: {} },
    { ...name, toolCallId: id, state: "output-available", output: {} },
  ];
}

function pairsIn(messages: readonly SessionMessage[]): { from: number; to: number }[] {
  const places = new Map<string, number[]>();
  messages.forEach(({ parts }, index) => {
    for (const part of parts) {
      const id = readToolPart(part)?.toolCallId ?? "";
      places.set(id, [...(places.get(id) ?? []), index]);
    }
  });
  return [...places.values()].map((indexes) => ({ from: Math.min(...indexes), to: Math.max(...indexes) }));
}
