// Work on what is long lets the event loop turn, and takes time in proportion to it.
import { Session } from "stemma";
import { sessionMemory } from "stemma/ai-sdk";
import { memory } from "stemma/memory";
import { createCompactFunction } from "stemma/utils";
import { expect, it } from "vitest";
import { forEachYielding } from "../../../packages/model/src/lib/event-loop.js";
import { measure } from "../../../reliability/pauses/measure.js";
import { longestHold } from "../../helpers/longest-hold.js";
import { patience } from "../../helpers/patience.js";

it("lets the event loop turn between the pieces of long work, of all who work", async () => {
  const work = () => forEachYielding(Array.from({ length: 20_000 }), () => JSON.stringify(Array.from({ length: 30 })));
  const held = await longestHold(() => Promise.all(Array.from({ length: 10 }, work)));
  expect(held).toBeLessThan(patience(150));
});

it("reads what a request holds of a long history once, and makes the request in pieces", async () => {
  const session = Session.create(memory());
  const text = "The quick brown fox jumps over the lazy dog. ".repeat(5);
  const parts = [{ type: "text", text }];
  const messages = Array.from({ length: 20_000 }, (_, id) => ({ id: `m${id}`, role: "user" as const, parts }));
  await session.appendAll(messages);
  const read = await longestHold(() => session.getHistory());
  const made = await longestHold(() => session.prepareTurn());
  const explained = await longestHold(() => session.explainContext());
  // Without turns of the loop, making it takes many times as long as reading.
  expect(made).toBeLessThan(2 * read + patience(150));
  expect(explained).toBeLessThan(2 * read + patience(150));
});

it("renders and reads the prompt of many blocks in pieces", async () => {
  let session = Session.create(memory()).withCachedPrompt() as Session;
  for (let index = 0; index < 40_000; index += 1) session = session.withContext(`block ${index}`);
  await session.tools();
  const rendered = await measure(() => session.refreshSystemPrompt());
  const looked = await measure(() => session.reminder());
  expect(rendered.pause).toBeLessThan(patience(120));
  expect(looked.pause).toBeLessThan(patience(120));
});

it("makes a request of the AI SDK in pieces, and looks at one before each step in pieces", async () => {
  const session = Session.create(memory());
  const parts = [{ type: "text", text: "The quick brown fox jumps over the lazy dog. ".repeat(2) }];
  const messages = Array.from({ length: 50_000 }, (_, id) => {
    return { id: `m${id}`, role: id % 2 === 0 ? "user" : "assistant", parts };
  });
  await session.appendAll(messages);
  const { pause } = await measure(async () => {
    const made = await sessionMemory(session);
    await made.prepareStep({ stepNumber: 0, messages: made.messages });
  });
  expect(pause).toBeLessThan(patience(100));
});

it("asks for the summary of a long history in pieces", async () => {
  const parts = [{ type: "text", text: "The quick brown fox jumps over the lazy dog. ".repeat(2) }];
  const messages = Array.from({ length: 100_000 }, (_, id) => ({ id: `m${id}`, role: "user", parts }));
  const compact = createCompactFunction({ summarize: async () => "In short." });
  const { pause } = await measure(() => compact(messages, { tokenThreshold: 10_000 }));
  expect(pause).toBeLessThan(patience(100));
});

it("adds a block in the same time, however many there are", async () => {
  const configure = async (count: number) => {
    const started = performance.now();
    let session = Session.create(memory()) as Session;
    for (let index = 0; index < count; index += 1) session = session.withContext(`block ${index}`);
    await session.tools();
    return performance.now() - started;
  };
  await configure(500);
  const few = await configure(500);
  // In proportion to the square it would be 100 times as long.
  expect(await configure(5000)).toBeLessThan(40 * few + patience(200));
});
