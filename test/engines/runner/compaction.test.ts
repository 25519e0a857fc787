import { describe, expect, it, vi } from "vitest";
import { createCompactFunction } from "../../../packages/model/src/compaction/compact.js";
import { type CreateSessionOptions, createSession } from "../../../packages/stemma/src/agent.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { calls, collect, says, scripted, usage } from "../../runner/mock-model.js";
import { add } from "../../runner/tools.js";

const LONG = "word ".repeat(200);

/** A model that answers at length, `turns` times, and summarises in a few words. */
function talker(...turns: Parameters<typeof scripted>) {
  const model = scripted(...turns);
  model.doGenerate = async () => ({
    content: [{ type: "text", text: "They talked." }],
    finishReason: { unified: "stop", raw: "stop" },
    usage: usage(1, 1),
    warnings: [],
  });
  return model;
}

const answers = (count: number) => Array.from({ length: count }, () => says(LONG));

/** As many turns as the model has answers for. */
async function talk(options: CreateSessionOptions & { model: ReturnType<typeof scripted> }, turns: number) {
  const session = await createSession({ sessionStorage: memory(), ...options });
  for (let turn = 0; turn < turns; turn += 1) {
    await session.send(`Question ${turn}`);
    await collect(session.receive());
  }
  return session;
}

describe("compaction by the session's model", () => {
  it("happens under a threshold that is smaller than the default tail", async () => {
    const model = talker(...answers(8));
    const { session } = await talk({ model, compactAfter: 400, onCompactionError: () => {} }, 8);
    expect((await session.getCompactions()).length).toBeGreaterThan(0);
    expect(JSON.stringify((await session.getHistory()).map(({ parts }) => parts))).toContain("They talked.");
  });

  it("keeps as much at both ends as `compaction` says", async () => {
    const ends: number[] = [];
    for (const tailTokenBudget of [0, 900]) {
      const compaction = { protectHead: 1, tailTokenBudget };
      const { session } = await talk({ model: talker(...answers(6)), compactAfter: 1500, compaction }, 6);
      const history = await session.getHistory();
      expect([history[0]?.parts[0]?.text, history[1]?.parts[0]?.text]).toEqual(["Question 0", "They talked."]);
      const ids = (await session.getHistory(undefined, { summaries: false })).map(({ id }) => id);
      ends.push(ids.indexOf((await session.getCompactions())[0]?.toMessageId ?? ""));
    }
    // Both compact after the same message; 900 tokens are three answers with their questions.
    expect(ends).toEqual([9, 5]);
  });

  it("refuses options that contradict each other, before anything is stored", async () => {
    const sessionStorage = memory();
    const onCompaction = createCompactFunction({ summarize: () => "S", tailTokenBudget: 500 });
    const wrong: CreateSessionOptions[] = [
      { compaction: {}, onCompaction },
      { compaction: { tailTokenBudget: 400 }, compactAfter: 400 },
      { compactAfter: 500, onCompaction },
      { compaction: { protectHead: -1 } },
      { compaction: { tailTokens: 1 } as never },
      { compaction: 5 as never },
    ];
    for (const options of wrong) {
      const made = createSession({ model: talker(), sessionStorage, ...options });
      await expect(made).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(await SessionManager.create(sessionStorage).list()).toEqual([]);
  });

  it("warns once where nobody listens that less than half of the threshold is free", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    try {
      await talk({ model: talker(...answers(8)), compactAfter: 400 }, 8);
      expect(warn.mock.calls).toEqual([[expect.stringContaining("compactAfter(400)")]]);
      await talk({ model: talker(...answers(8)), compactAfter: 400, onCompactionError: () => {} }, 8);
      expect(warn).toHaveBeenCalledTimes(1);
    } finally {
      warn.mockRestore();
    }
  });

  it("tells the model in the middle of a turn what was summarised, and how to read it", async () => {
    const model = talker(...answers(4), calls(["a", "add", { x: 1 }]), says("End"));
    const store = memory();
    const tools = { add, ...(await SessionManager.create(store).tools()) };
    const options = { model, tools, sessionStorage: store, expandableSummaries: true, onCompactionError: () => {} };
    await talk({ ...options, compactAfter: 800 }, 5);
    const last = JSON.stringify(model.doStreamCalls.at(-1)?.prompt);
    expect(last).toContain("They talked.");
    expect(last.split("do not begin again")).toHaveLength(2);
    expect(last).toMatch(/read them with expand_summary, id .*; find one with session_search/);
  });
});
