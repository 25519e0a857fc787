// A message whose parent is not in the file hides nothing, whatever the format.
import { describe, expect, it } from "vitest";
import { importSession } from "../../../packages/formats/src/import/import-session.js";
import type { JsonObject } from "../../../packages/model/src/lib/json.js";
import { memory } from "../../../packages/store/src/memory.js";
import { jsonl, sessionsOf } from "../../cli/read.js";
import { Transcript } from "../../formats/claude-code-lines.js";

const ID = "11111111-1111-4111-8111-111111111111";
const IDS = ["a", "b", "c", "d", "e", "f"];
const roleOf = (index: number) => (index % 2 === 0 ? "user" : "assistant");

/** For each format whose messages name their parents: a conversation of messages with these ids, each below its parent. */
const FORMATS: Record<string, (nodes: { id: string; parent: string | null | undefined; role: string }[]) => string> = {
  "claude-code": (nodes) =>
    jsonl(
      nodes.map(({ id, parent, role }) => ({
        type: role,
        uuid: id,
        ...(parent === undefined ? {} : { parentUuid: parent }),
        sessionId: ID,
        message: {
          role,
          content: id,
          ...(role === "assistant" ? { id: `m${id}`, content: [{ type: "text", text: id }] } : {}),
        },
      })),
    ),
  "claude-code as it prints": (nodes) =>
    jsonl([
      { type: "system", subtype: "init", session_id: ID, uuid: "init" },
      ...nodes.map(({ id, parent, role }) => ({
        type: role,
        uuid: id,
        ...(parent === undefined ? {} : { parentUuid: parent }),
        session_id: ID,
        parent_tool_use_id: null,
        message: { role, id: `m${id}`, content: [{ type: "text", text: id }] },
      })),
    ]),
  pi: (nodes) =>
    jsonl([
      { type: "session", id: ID },
      ...nodes.map(({ id, parent, role }) => ({
        type: "message",
        id,
        ...(parent === undefined ? {} : { parentId: parent }),
        message: { role, content: [{ type: "text", text: id }] },
      })),
    ]),
  chatgpt: (nodes) =>
    JSON.stringify([
      {
        conversation_id: ID,
        current_node: nodes.at(-1)?.id,
        mapping: Object.fromEntries(
          nodes.map(({ id, parent, role }) => [
            id,
            { id, parent, message: { author: { role }, content: { content_type: "text", parts: [id] } } },
          ]),
        ),
      },
    ]),
  claude: (nodes) =>
    JSON.stringify([
      {
        uuid: ID,
        chat_messages: nodes.map(({ id, parent, role }) => ({
          uuid: id,
          parent_message_uuid: parent,
          sender: role === "user" ? "human" : role,
          text: id,
        })),
      },
    ]),
  librechat: (nodes) =>
    JSON.stringify({
      conversationId: ID,
      messages: nodes.map(({ id, parent, role }) => ({
        messageId: id,
        parentMessageId: parent,
        isCreatedByUser: role === "user",
        text: id,
      })),
    }),
  "open-webui": (nodes) =>
    JSON.stringify([
      {
        id: ID,
        chat: {
          history: {
            currentId: nodes.at(-1)?.id,
            messages: Object.fromEntries(
              nodes.map(({ id, parent, role }) => [id, { parentId: parent, role, content: id }]),
            ),
          },
        },
      },
    ]),
  jsonl: (nodes) =>
    jsonl([
      { stemma: 1, session: { id: ID } },
      ...nodes.map(({ id, parent, role }) => ({
        message: { id, role, parts: [{ type: "text", text: id }] },
        parentId: parent ?? null,
      })),
    ]),
};

const chain = (parentOf: (index: number) => string | null | undefined) =>
  IDS.map((id, index) => ({ id, parent: parentOf(index), role: roleOf(index) }));

async function read(text: string, id = ID) {
  const store = memory();
  const why: string[] = [];
  for (const session of await sessionsOf(text, { stem: ID }))
    why.push(...((await importSession(store, session))?.skipped ?? []).map((each) => each.why));
  const { messages } = await store.session(id).path();
  const roots = (await store.session(id).tree()).filter(({ parentId }) => parentId === null);
  await store.close();
  return {
    shown: messages.map((message) => message.parts.map(({ text: words }) => words).join()),
    why,
    roots: roots.length,
  };
}

describe.each(Object.entries(FORMATS))("%s", (format, file) => {
  it("attaches a message whose parent is missing to the one before it, and says so", async () => {
    const nodes = chain((index) => (index === 0 ? null : (IDS[index - 1] as string)));
    const { shown, why, roots } = await read(file(nodes.toSpliced(3, 1)));
    expect(shown).toEqual(["a", "b", "c", "e", "f"]);
    expect(roots).toBe(1);
    expect(why).toEqual([
      expect.stringContaining('its parent "d" is missing; it is attached to the message before it'),
    ]);
  });

  it("shows all where messages hang below each other in a circle, or below themselves", async () => {
    const nodes = chain((index) => (index === 0 ? null : index === 2 ? "d" : (IDS[index - 1] as string)));
    const { shown, why } = await read(file(nodes));
    expect([...shown].sort()).toEqual(IDS);
    expect(why.length).toBeGreaterThan(0);
    const own = await read(
      file(chain((index) => (index === 2 ? "c" : index === 0 ? null : (IDS[index - 1] as string)))),
    );
    expect(own.shown).toEqual(IDS);
  });

  it("keeps two roots apart where messages name their parents", async () => {
    const nodes = chain((index) => (index === 0 || index === 4 ? null : (IDS[index - 1] as string)));
    expect(await read(file(nodes))).toEqual({ shown: ["e", "f"], why: [], roots: 2 });
  });

  if (format === "jsonl") return;

  it("is one conversation where no message names a parent", async () => {
    for (const parent of [null, undefined]) {
      expect(await read(file(chain(() => parent)))).toEqual({ shown: IDS, why: [], roots: 1 });
    }
  });
});

describe("a transcript of Claude Code", () => {
  it("has its summary over all that came before, also below a message that has lost its parent", async () => {
    const transcript = new Transcript(ID);
    const first = transcript.user(null, "One");
    const second = transcript.assistant(first, "m1", { type: "text", text: "Two" });
    const third = transcript.user(second, "Three");
    const fourth = transcript.assistant(third, "m2", { type: "text", text: "Four" });
    transcript.user(transcript.compaction(fourth, "They counted."), "Five");
    const lines: JsonObject[] = transcript.lines.filter(({ uuid }) => uuid !== third);
    expect((await read(jsonl(lines))).shown).toEqual(["They counted.", "Five"]);
    const withoutBoundary = transcript.lines.filter(({ subtype }) => subtype === undefined);
    const { shown, why } = await read(jsonl(withoutBoundary));
    expect(shown).toEqual(["They counted.", "Five"]);
    expect(why).toContainEqual(expect.stringContaining("does not follow a boundary"));
  });

  it("is attached to the piece before where a long one is written in several", async () => {
    const long = "The mill turns. ".repeat(20_000);
    const line = (uuid: string, parentUuid: string | null, content: string) => ({
      type: "user",
      uuid,
      parentUuid,
      sessionId: ID,
      message: { role: "user", content },
    });
    const lines = [line("a", null, long), line("b", "a", long), line("c", "gone", "Short"), line("d", "c", "End")];
    const { shown, roots } = await read(jsonl(lines));
    expect([shown.map((words) => words.length), roots]).toEqual([[long.length, long.length, 5, 3], 1]);
  });
});

describe("ChatGPT's export", () => {
  it("finds a parent in its children where nodes do not name it", async () => {
    const node = (id: string, children: string[]) => ({
      id,
      children,
      message: { author: { role: "user" }, content: { content_type: "text", parts: [id] } },
    });
    const mapping = { a: node("a", ["b", "c"]), b: node("b", []), c: node("c", ["d"]), d: node("d", []) };
    const { shown } = await read(JSON.stringify([{ conversation_id: ID, current_node: "d", mapping }]));
    expect(shown).toEqual(["a", "c", "d"]);
  });
});
