import { expect, it } from "vitest";
import { textMessage } from "../../../../../test/helpers/messages.js";
import { Session } from "../../../../stemma/src/session.js";
import { memory } from "../../../../store/src/memory.js";
import { exportSession } from "../../../src/export/export-formats.js";

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}

it("writes a session in the format that is named, and as lines of JSON where none is", async () => {
  const store = memory();
  await Session.create(store).forSession("s").appendMessage(textMessage("a"));
  const lines = (await textOf(exportSession(store, "s"))).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).message?.id)).toContain("a");
  expect(await textOf(exportSession(store, "s", "markdown"))).toContain("a");
});

it("tells of a session that is not there, and of a format that it does not know", async () => {
  const store = memory();
  const read = (id: string, format?: string) => exportSession(store, id, format).next();
  await expect(read("gone")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  await expect(read("gone", "docx")).rejects.toMatchObject({ code: "UNKNOWN_FORMAT" });
});
