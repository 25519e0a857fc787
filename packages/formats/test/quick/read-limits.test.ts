import { expect, it } from "vitest";
import { collect, inPieces } from "../../../../test/cli/read.js";
import { readItems } from "../../src/json-items.js";
import { ReadLimits, readSessions } from "../../src/read.js";
import type { ParsedSession } from "../../src/stemma/session-file.js";

async function* endless(start: string, again: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(start);
  for (;;) yield Buffer.from(again.repeat(Math.ceil(1_000_000 / again.length)));
}

const GOOD = '{"role":"user","content":"Hi"}\n';

it("gives what stands before a line or a value without end, and says where it begins", async () => {
  for (const [start, line] of [
    [GOOD, 2],
    [`[${GOOD},`, 2],
  ] as const) {
    const items = readItems(inPieces(`${start}"${"x".repeat(1500)}`), 100);
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const item of items) seen.push(item.kind);
    })();
    await expect(reading).rejects.toMatchObject({ code: "FILE_REFUSED", details: { line } });
    expect(seen).toEqual(["value"]);
  }
});

it("ends with lines that cannot be read, where they are more than the others", async () => {
  const sessions: ParsedSession[] = [];
  const reading = async (start: string) => {
    for await (const session of readSessions(endless(start, "y\n"))) sessions.push(session);
  };
  await expect(reading("")).rejects.toMatchObject({
    code: "FILE_REFUSED",
    message: expect.stringMatching(/10001 values/),
  });
  expect(sessions).toEqual([]);
  await expect(reading(GOOD)).rejects.toMatchObject({ code: "FILE_REFUSED" });
  expect(sessions.map(({ messages }) => messages.length)).toEqual([1]);
});

it("counts what is held of a session anew with each piece", () => {
  const limits = new ReadLimits(3000, 2);
  const value = { kind: "value", value: {}, at: { line: 7 }, length: 200 } as const;
  for (let round = 0; round < 5; round += 1) {
    limits.count(value);
    limits.count(value);
    limits.taken();
  }
  limits.count(value);
  limits.count(value);
  expect(() => limits.count(value)).toThrow(expect.objectContaining({ code: "FILE_REFUSED", details: { line: 7 } }));
});

it("refuses no file whose lines are good, but for some", async () => {
  async function* lines(): AsyncGenerator<Uint8Array> {
    for (let line = 0; line < 12_000; line += 1) yield Buffer.from(`${GOOD}y\n`);
  }
  const [session] = await collect(readSessions(lines()));
  expect(session?.messages).toHaveLength(12_000);
});
