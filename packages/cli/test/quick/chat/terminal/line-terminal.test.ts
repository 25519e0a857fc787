import { PassThrough } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { LineTerminal } from "../../../../src/chat/terminal/open-terminal.js";

it("gives the lines of a pipe that ended before anyone asked for them", async () => {
  const input = new PassThrough();
  const terminal = new LineTerminal(
    input as unknown as NodeJS.ReadStream,
    new PassThrough() as unknown as NodeJS.WriteStream,
  );
  input.end("first\nsecond\n");
  // As a database on another machine takes to open.
  await wait(20);
  const lines: string[] = [];
  for await (const line of terminal.entries()) lines.push(line);
  terminal.close();
  expect(lines).toEqual(["first", "second"]);
});
