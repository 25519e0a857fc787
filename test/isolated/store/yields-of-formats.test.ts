// Reading and writing the file of a long session lets the event loop turn, but while one of its values is parsed.

import { expect, it } from "vitest";
import { exportSession, readSessions } from "../../../packages/stemma/src/formats.js";
import { memory } from "../../../packages/stemma/src/memory.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { measure } from "../../../reliability/pauses/measure.js";
import { patience } from "../../helpers/patience.js";

const text = "The quick brown fox jumps over the lazy dog. ".repeat(2);
const roleOf = (index: number) => (index % 2 === 0 ? "user" : "assistant");
const listOf = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index));

async function* bytesOf(file: string) {
  const bytes = Buffer.from(file);
  for (let start = 0; start < bytes.length; start += 65_536) yield bytes.subarray(start, start + 65_536);
}

async function drain(values: AsyncIterable<unknown>) {
  for await (const _ of values);
}

it("reads 100,000 messages that stand on one line in pieces", async () => {
  const line = JSON.stringify({ messages: listOf(100_000, (index) => ({ role: roleOf(index), content: text })) });
  const parsed = await measure(() => JSON.parse(line));
  const { pause } = await measure(() => drain(readSessions(bytesOf(line))));
  expect(pause).toBeLessThan(2 * parsed.pause + patience(100));
});

it("reads an answer of many items in time that grows as they do", async () => {
  const call = (index: number) => ({ type: "function_call", call_id: `c${index}`, name: "f", arguments: "{}" });
  const output = (index: number) => ({ type: "function_call_output", call_id: `c${index}`, output: text });
  const read = async (count: number) => {
    const file = JSON.stringify([...listOf(count, call), ...listOf(count, output)]);
    return (await measure(() => drain(readSessions(bytesOf(file))))).time;
  };
  await read(500);
  const few = await read(2000);
  // In proportion to the square it would be 100 times as long.
  expect(await read(20_000)).toBeLessThan(30 * few + patience(300));
});

it.each(["pi", "openai"])("writes 100,000 messages as a file of %s in pieces", async (format) => {
  const store = memory();
  const session = Session.create(store).forSession("long");
  await session.appendAll(
    listOf(100_000, (index) => ({ id: `m${index}`, role: roleOf(index), parts: [{ type: "text", text }] })),
  );
  const { pause } = await measure(() => drain(exportSession(store, "long", format)));
  expect(pause).toBeLessThan(patience(90));
});
