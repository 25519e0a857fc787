import { describe, expect, it } from "vitest";
import { IMPORT_FORMATS } from "../../../packages/formats/src/formats.js";
import { CLAUDE_ID, CODEX_ID, rollout } from "../../cli/import-home.js";
import { jsonl } from "../../cli/read.js";
import { commandLine, temporaryFolder } from "../../cli/run.js";
import { textMessage } from "../../helpers/messages.js";

const folder = temporaryFolder();
const timestamp = "2026-10-01T10:00:00.000Z";
const said = { role: "user", content: "hello" };
const node = {
  parent: null,
  message: { author: { role: "user" }, content: { content_type: "text", parts: ["hello"] } },
};

/** A file of each format, with one message. */
const FILES: Record<string, readonly unknown[]> = {
  jsonl: [
    { stemma: 1, session: { id: "s" } },
    { message: textMessage("a", "hello"), parentId: null },
  ],
  pi: [
    { type: "session", version: 3, id: "p", timestamp, cwd: "/" },
    { type: "message", id: "1", parentId: null, timestamp, message: said },
  ],
  "claude-code": [{ type: "user", uuid: "u", parentUuid: null, sessionId: CLAUDE_ID, timestamp, message: said }],
  codex: rollout(CODEX_ID, "hello", "hi").slice(0, 2),
  chatgpt: [[{ id: "c", title: "T", current_node: "n", mapping: { n: { id: "n", ...node } } }]],
  claude: [[{ uuid: "c", name: "T", chat_messages: [{ uuid: "m", sender: "human", text: "hello" }] }]],
  gemini: [
    { sessionId: "g", projectHash: "h", startTime: timestamp },
    { id: "m", type: "user", timestamp, content: "hello" },
  ],
  opencode: [
    { info: { id: "o" }, messages: [{ info: { id: "m", role: "user" }, parts: [{ type: "text", text: "hello" }] }] },
  ],
  librechat: [{ conversationId: "l", messages: [{ messageId: "m", isCreatedByUser: true, text: "hello" }] }],
  "open-webui": [[{ id: "w", chat: { history: { messages: { m: { ...said, parentId: null } }, currentId: "m" } } }]],
  cursor: [{ role: "user", message: { content: [{ type: "text", text: "hello" }] } }],
  "ui-messages": [textMessage("a", "hello")],
  anthropic: [[{ role: "assistant", content: [{ type: "thinking", thinking: "hello" }] }]],
  "model-messages": [[{ role: "assistant", content: [{ type: "reasoning", text: "hello" }] }]],
  openai: [said],
};

/** Formats whose messages can be a role and a text, and nothing more. */
const PLAIN = ["anthropic", "model-messages"];

let count = 0;

/** Imports a file in a format into a database of its own. */
async function importAs(format: string, values: readonly unknown[], before = "") {
  count += 1;
  const stemma = commandLine(folder, `${count}.db`);
  const file = stemma.file(`${count}.jsonl`, before + jsonl(values));
  const { code, out, err } = await stemma.run("import", "-f", format, file);
  const { sessions } = await stemma.json<{ sessions: unknown[] }>("sessions");
  return { code, out, err: err.replace(`stemma: ${file}: `, ""), sessions };
}

const refused = (format: string, other: string) => ({
  code: 1,
  out: "",
  err: `It holds nothing of the format "${format}": its first value is of the format "${other}".\n`,
  sessions: [],
});

describe("stemma import with a format that is named", () => {
  it("has a file of every format here", () => {
    expect(Object.keys(FILES)).toEqual(IMPORT_FORMATS.map(({ name }) => name));
  });

  it.each(Object.keys(FILES))("reads files of %s, and refuses all others, with what they look like", async (format) => {
    for (const [other, values] of Object.entries(FILES)) {
      const read = await importAs(format, values);
      const isOwn = other === format || (other === "openai" && PLAIN.includes(format));
      if (!isOwn) expect(read).toEqual(refused(format, other));
      else expect(read).toMatchObject({ code: 0, err: "", out: expect.stringContaining("1 of 1 message added") });
    }
  });

  it("goes by the first line that can be read", async () => {
    expect(await importAs("claude-code", FILES.pi ?? [], '{"type":\n')).toEqual(refused("claude-code", "pi"));
    const { code, out } = await importAs("pi", FILES.pi ?? [], '{"type":\n');
    expect([code, out]).toEqual([0, expect.stringMatching(/1 of 1 message added, 1 left out:\n {2}line 1: not JSON/)]);
  });

  it("reads what begins like another format where its own reader can", async () => {
    const items = [{ type: "message", role: "user", content: [{ type: "input_text", text: "hello" }] }];
    for (const [format, values] of [
      ["codex", items],
      ["openai", [{ ...said, parts: [] }]],
    ] as const)
      expect(await importAs(format, values)).toMatchObject({ code: 0, sessions: [{ messages: 1 }] });
  });
});
