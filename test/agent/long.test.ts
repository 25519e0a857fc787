import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { createSession, SqliteSessionStorage } from "../../src/agent.js";
import { createCompactFunction } from "../../src/compaction/compact.js";
import type { Store } from "../../src/storage/contract.js";
import { calls, collect, says, scripted } from "./mock-model.js";
import { add } from "./tools.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-long-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TURNS = 9;

/** A conversation that is filled up to some lengths, with a few turns at each. */
async function measure(lengths: readonly number[], store: Store, options: object): Promise<number[]> {
  const steps = lengths.flatMap(() =>
    Array.from({ length: TURNS }, (_, turn) => [calls([`c${turn}`, "add", { x: turn }]), says("Done.")]),
  );
  const session = await createSession({
    model: scripted(...steps.flat()),
    sessionStorage: store,
    tools: { add },
    ...options,
  });
  const medians: number[] = [];
  let written = 0;
  for (const length of lengths) {
    const fill = Array.from({ length: length - written }, (_, index) => ({
      id: `f${written + index}`,
      role: index % 2 === 0 ? "user" : "assistant",
      parts: [{ type: "text", text: `Message ${index} says a little something, as messages do.` }],
    }));
    await session.session.appendAll(fill);
    const times: number[] = [];
    for (let turn = 0; turn < TURNS; turn += 1) {
      const started = performance.now();
      await session.send("A question");
      await collect(session.receive());
      times.push(performance.now() - started);
    }
    written = length;
    medians.push(times.sort((a, b) => a - b)[TURNS >> 1] ?? 0);
  }
  return medians;
}

it("costs as much per turn at 5,000 messages as at 500, where the history is compacted", async () => {
  const store = await new SqliteSessionStorage(join(folder, "compacted.db")).openStore();
  const onCompaction = createCompactFunction({ summarize: () => "They talked.", tailTokenBudget: 1000 });
  const [, short = 0, long = 0] = await measure([100, 500, 5000], store, { compactAfter: 3000, onCompaction });
  expect(long).toBeLessThan(short * 2 + 10);
  await store.close();
});

it("writes as much per turn at 5,000 messages as at 500: what is new, and nothing else", async () => {
  const store = await new SqliteSessionStorage(join(folder, "written.db")).openStore();
  let bytes = 0;
  const weigh = <T extends { content: string }>(message: T) => {
    bytes += message.content.length;
    return message;
  };
  const weighed: Store = {
    ...store,
    messages: {
      ...store.messages,
      append: (id, messages, parent) => store.messages.append(id, messages.map(weigh), parent),
      update: (id, message) => store.messages.update(id, weigh(message)),
    },
  };
  const perTurn: number[] = [];
  for (const length of [500, 5000]) {
    const session = await createSession({
      model: scripted(calls(["c", "add", { x: 1 }]), says("Done.")),
      sessionStorage: weighed,
      tools: { add },
    });
    const fill = Array.from({ length }, (_, index) => ({
      id: `f${index}`,
      role: "user",
      parts: [{ type: "text", text: "x" }],
    }));
    await session.session.appendAll(fill);
    bytes = 0;
    await session.send("A question");
    await collect(session.receive());
    perTurn.push(bytes);
  }
  expect(perTurn[1]).toBe(perTurn[0]);
  await store.close();
});
