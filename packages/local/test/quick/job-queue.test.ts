import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Encoder } from "../../src/thread/encoder.js";
import { JobQueue } from "../../src/thread/job-queue.js";
import { type ModelTask, sharedClock } from "../../src/thread/protocol.js";

/** A network that takes so long for a token, and whose score is the number of them; its vectors have two numbers. */
function slowEncoder(msPerToken: number): Encoder {
  const read = async (text: string) => {
    const tokens = text.split(" ").length;
    await setTimeout(tokens * msPerToken);
    return tokens;
  };
  return {
    query: async () => "query",
    score: (_: unknown, text: string) => read(text),
    vector: async (text: string) => Float32Array.of(await read(text), 0.5),
  } as unknown as Encoder;
}

/** A queue, and what it answered: numbers or a code, in that order. */
function queueOf(encoder: Encoder) {
  const answers: [id: number, answer: number[] | string][] = [];
  const queue = new JobQueue({
    answer: (id, numbers) => answers.push([id, [...numbers]]),
    fail: (id, error) => answers.push([id, (error as { code?: string }).code ?? String(error)]),
  });
  const add = (id: number, task: ModelTask) => queue.add(id, encoder, task);
  return { queue, answers, add, answered: (count: number) => expect.poll(() => answers.length).toBe(count) };
}

const text = (words: number) => Array.from({ length: words }, () => "1").join(" ");
const within = (ms: number) => sharedClock() + ms;
const texts = (count: number, words: number) => Array.from({ length: count }, () => text(words));

it("gives a score for each passage, and the numbers of each vector", async () => {
  const { answers, add, answered } = queueOf(slowEncoder(0));
  add(1, { query: "q", texts: [text(3), text(1)], deadline: Number.POSITIVE_INFINITY });
  add(2, { texts: [text(2), text(4)] });
  add(3, { query: "q", texts: [], deadline: within(1) });
  await answered(3);
  expect(answers).toContainEqual([1, [3, 1]]);
  expect(answers).toContainEqual([2, [2, 0.5, 4, 0.5]]);
  expect(answers).toContainEqual([3, []]);
});

it("lets a short request pass a long one", async () => {
  const { answers, add, answered } = queueOf(slowEncoder(0.02));
  add(1, { texts: texts(64, 250) });
  await setTimeout(5);
  add(2, { query: "q", texts: texts(5, 10), deadline: within(1_000) });
  await answered(2);
  expect(answers.map(([id]) => id)).toEqual([2, 1]);
});

it("answers with the first scores when the time is over, as many for each of those that wait", async () => {
  const { answers, add, answered } = queueOf(slowEncoder(0.05));
  const began = performance.now();
  for (const id of [1, 2, 3, 4]) add(id, { query: "q", texts: texts(50, 100), deadline: within(500) });
  await answered(4);
  expect(performance.now() - began).toBeLessThan(5_000);
  const counts = answers.map(([, scores]) => scores.length);
  expect(Math.min(...counts)).toBeGreaterThan(0);
  expect(Math.max(...counts)).toBeLessThan(50);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(20);
});

it("says that it is busy where there was time for none, and forgets what is dropped", async () => {
  const { queue, answers, add, answered } = queueOf(slowEncoder(0.01));
  add(1, { query: "q", texts: texts(5, 100), deadline: within(-1) });
  add(2, { query: "q", texts: texts(5, 100), deadline: within(60_000) });
  add(3, { texts: texts(1, 1) });
  queue.drop(2);
  await answered(2);
  expect(answers).toEqual([
    [1, "MODEL_BUSY"],
    [3, [1, 0.5]],
  ]);
});

it("fails what waits for a model that goes, and what the model fails with, and goes on", async () => {
  const going = slowEncoder(0.1);
  const { queue, answers, add, answered } = queueOf(going);
  add(1, { texts: texts(20, 100) });
  add(2, { texts: texts(20, 100) });
  queue.dropAll(going, new Error("gone"));
  const broken = { ...slowEncoder(0), vector: () => Promise.reject(new Error("broken")) } as unknown as Encoder;
  queue.add(3, broken, { texts: [text(1)] });
  queue.add(4, slowEncoder(0), { texts: [text(1)] });
  await answered(4);
  expect(new Map(answers)).toEqual(
    new Map<number, unknown>([
      [1, "Error: gone"],
      [2, "Error: gone"],
      [3, "Error: broken"],
      [4, [1, 0.5]],
    ]),
  );
});
