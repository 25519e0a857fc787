// One format, in both directions.
import { convertToModelMessages, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { asStored, jsonl, sessionOf } from "../../../../../../test/cli/read.js";
import { atOnce } from "../../../../../model/src/lib/event-loop.js";
import type { JsonObject } from "../../../../../model/src/lib/json.js";
import { toPi } from "../../../../src/programs/pi/pi-export.js";
import type { ParsedSession } from "../../../../src/stemma/session-file.js";
import { pathOf } from "../../../../src/stemma/store-lines.js";

const time = "2026-01-01T00:00:00.000Z";
const text = (value: string) => ({ type: "text", text: value });
const toolCall = (id: string) => ({ type: "toolCall", id, name: "bash", arguments: { command: id } });
const user = (value: string) => ({ role: "user", content: [text(value)], timestamp: 1 });
const assistant = (...content: JsonObject[]) => ({
  role: "assistant",
  content,
  api: "a",
  provider: "p",
  model: "m-1",
  usage: { input: 10, output: 2, cacheRead: 3, cacheWrite: 1, cost: { total: 0.5 } },
  stopReason: "stop",
  timestamp: 2,
});
const result = (id: string, ...content: JsonObject[]) => ({
  role: "toolResult",
  toolCallId: id,
  toolName: "bash",
  content: content.length > 0 ? content : [text(`result of ${id}`)],
  details: { lines: 1 },
  isError: false,
  timestamp: 3,
});

/** Entries of the first version of the format: no ids, a line of them. */
const firstVersion = [
  { type: "session", id: "s-1", timestamp: time, cwd: "/", provider: "p", modelId: "m-0", thinkingLevel: "off" },
  { type: "thinking_level_change", timestamp: time, thinkingLevel: "high" },
  entry(user("make it blue")),
  entry(
    assistant(
      { type: "thinking", thinking: "blue", thinkingSignature: "sig" },
      text("ok"),
      { ...toolCall("t1"), partialJson: "{}" },
      toolCall("t2"),
    ),
  ),
  entry(result("t2")),
  { type: "model_change", timestamp: time, provider: "p", modelId: "m-1" },
  entry(result("t1", text("a"), { type: "image", data: "AAAA", mimeType: "image/png" })),
  entry({
    role: "bashExecution",
    command: "ls",
    output: "x",
    exitCode: 1,
    cancelled: false,
    truncated: false,
    timestamp: 4,
  }),
  entry(user("go on")),
  { type: "compaction", timestamp: time, summary: "It was made blue.", firstKeptEntryIndex: 8, tokensBefore: 9 },
  entry({ ...assistant(toolCall("t3")), stopReason: "aborted", errorMessage: "stopped" }),
  entry({ role: "user", content: "plain text", timestamp: 5 }),
  entry({ ...result("t9"), isError: true }),
  entry(assistant(toolCall("t4"))),
  entry({ ...result("t4", text("failed")), isError: true }),
  { type: "from_the_future", timestamp: time, anything: [1] },
];

function entry(message: JsonObject): JsonObject {
  return { type: "message", timestamp: time, message };
}

function node(id: string, parentId: string | null, fields: JsonObject): JsonObject {
  return { id, parentId, timestamp: time, ...fields };
}

function said(id: string, parentId: string | null, message: JsonObject): JsonObject {
  return node(id, parentId, { type: "message", message });
}

const header = { type: "session", version: 3, id: "s-3", timestamp: time, cwd: "/" };

/** A tree whose branches part at a message, between two results, and before a result. */
const tree = [
  header,
  node("n1", null, { type: "model_change", provider: "p", modelId: "m" }),
  said("u1", "n1", user("start")),
  said("a1", "u1", assistant(toolCall("t1"), toolCall("t2"))),
  said("r1", "a1", result("t1")),
  said("r2", "r1", result("t2")),
  said("u2", "r2", user("both results are there")),
  said("u3", "r1", user("only the first is")),
  said("u3b", "r1", user("still only the first")),
  said("u4", "a1", user("none is")),
  said("r1b", "a1", result("t1", text("run again"))),
  said("u5", "r1b", user("another result")),
  node("c1", "u2", { type: "compaction", summary: "Started.", firstKeptEntryId: "u2", tokensBefore: 5 }),
  said("u6", "c1", user("after the summary")),
  node("b1", "u1", { type: "branch_summary", fromId: "u6", summary: "It went well there." }),
  node("x1", "b1", { type: "custom_message", customType: "ext", content: "from an extension", display: false }),
  node("x2", "x1", { type: "custom", customType: "ext", data: { kept: true } }),
  node("l1", "x2", { type: "label", targetId: "u1", label: "begin" }),
  node("i1", "l1", { type: "session_info", name: "Blue things" }),
];

describe("pi's sessions", () => {
  it("come back equal from an export, with ids and without", async () => {
    for (const entries of [firstVersion, tree]) {
      const session = await sessionOf(jsonl(entries));
      expect(atOnce(toPi(asStored(session)))).toEqual(entries);
    }
  });

  it("have the results of tools in the messages that called them", async () => {
    const session = await sessionOf(jsonl(firstVersion));
    const reply = session.messages[1]?.message;
    expect(reply).toMatchObject({ role: "assistant", createdAt: "1970-01-01T00:00:00.002Z" });
    expect(reply?.parts).toMatchObject([
      { type: "reasoning", text: "blue", providerMetadata: { pi: { thinkingSignature: "sig" } } },
      { type: "text", text: "ok" },
      {
        type: "dynamic-tool",
        toolName: "bash",
        toolCallId: "t1",
        state: "output-available",
        output: [text("a"), { type: "image" }],
      },
      {
        type: "dynamic-tool",
        toolCallId: "t2",
        state: "output-available",
        input: { command: "t2" },
        output: "result of t2",
      },
    ]);
    const parts = session.messages.flatMap(({ message }) => message.parts);
    expect(parts.find(({ toolCallId }) => toolCallId === "t4")).toMatchObject({
      state: "output-error",
      errorText: "failed",
    });
    expect(parts.find(({ toolCallId }) => toolCallId === "t3")).toMatchObject({ state: "input-available" });
    const messages = session.messages.map(({ message }) => message) as unknown as UIMessage[];
    await expect(convertToModelMessages(messages)).resolves.toBeInstanceOf(Array);
  });

  it("are called by what their user said first, and by a command only where nothing else was said", async () => {
    const nameOf = async (...texts: string[]) => {
      const said = texts.map((each) => entry(user(each)));
      return (await sessionOf(jsonl([firstVersion[0] as JsonObject, ...said])))?.name;
    };
    expect(await nameOf(" /mode plan", "", "look into /tmp", "go on")).toBe("look into /tmp");
    expect(await nameOf("/model", "/home/ada/notes is empty")).toBe("/home/ada/notes is empty");
    expect(await nameOf("/model", "/mode")).toBe("/model");
  });

  it("are called by their name, and count what their models used", async () => {
    expect(await sessionOf(jsonl(tree))).toMatchObject({ id: "s-3", name: "Blue things", model: "m-1" });
    const session = await sessionOf(jsonl(firstVersion));
    expect(session).toMatchObject({ id: "s-1", name: "make it blue", source: "pi", model: "m-1" });
    expect(session.usage).toEqual({ inputTokens: 42, outputTokens: 6, cost: 1.5 });
  });

  it("tell by day and model what was used", async () => {
    const later = { ...assistant(text("later")), model: "m-2", timestamp: Date.parse("2026-01-02T23:59:00Z") };
    const aborted = { ...assistant(), usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: { total: 0 } } };
    const session = await sessionOf(
      jsonl([
        firstVersion[0] as JsonObject,
        entry(assistant(text("one"))),
        entry(assistant(text("two"))),
        entry(aborted),
        { type: "message", message: later },
        { type: "message", message: { ...later, timestamp: "never" } },
      ]),
    );
    const used = { requests: 1, inputTokens: 14, outputTokens: 2, cost: 0.5 };
    expect(session.usageRows).toEqual([
      { day: "2026-01-01", model: "m-1", requests: 2, inputTokens: 28, outputTokens: 4, cost: 1 },
      { day: "2026-01-02", model: "m-2", ...used },
    ]);
    expect(session.usage).toEqual({ inputTokens: 56, outputTokens: 8, cost: 2 });
  });

  it("give the same ids each time, and a grown file the old ones", async () => {
    const ids = idsOf(await sessionOf(jsonl(firstVersion)));
    expect(idsOf(await sessionOf(jsonl(firstVersion)))).toEqual(ids);
    expect(idsOf(await sessionOf(jsonl([...firstVersion, entry(user("more"))]))).slice(0, -1)).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("keep their branches, each with the results that it had", async () => {
    const session = await sessionOf(jsonl(tree));
    const answers = (leaf: string) =>
      atOnce(pathOf(asStored(session), leaf)).map(({ id, parts }) => {
        const outputs = parts.flatMap(({ type, output }) => (type === "dynamic-tool" ? [output ?? null] : []));
        return outputs.length === 0 ? id : outputs;
      });
    const run = "result of t1";
    expect(answers("u6")).toEqual(["u1", [run, "result of t2"], "u2", "u6"]);
    expect(answers("u3")).toEqual(["u1", [run, null], "u3"]);
    expect(answers("u4")).toEqual(["u1", [null, null], "u4"]);
    expect(answers("u5")).toEqual(["u1", ["run again", null], "u5"]);
    expect(answers("x1")).toEqual(["u1", "b1", "x1"]);
    const parent = (id: string) => session.messages.find(({ message }) => message.id === id)?.parentId;
    expect(parent("u3b")).toBe(parent("u3"));
    expect(session.activeLeafId).toBe("x1");
  });

  it("have a summary over everything before the entry that a compaction keeps", async () => {
    const [first] = (await sessionOf(jsonl(firstVersion))).compactions;
    const ids = idsOf(await sessionOf(jsonl(firstVersion)));
    expect(first).toMatchObject({
      summary: "It was made blue.",
      fromMessageId: ids[0],
      toMessageId: ids[2],
      createdAt: time,
    });
    expect((await sessionOf(jsonl(tree))).compactions).toEqual([
      { id: "c1", summary: "Started.", fromMessageId: "u1", toMessageId: "a1", createdAt: time },
    ]);
  });

  it("keep a call and its result on one side of a summary", async () => {
    const entries = [
      header,
      said("u1", null, user("x")),
      said("a1", "u1", assistant(toolCall("t1"))),
      said("r1", "a1", result("t1")),
      node("c1", "r1", { type: "compaction", summary: "S", firstKeptEntryId: "r1" }),
    ];
    expect((await sessionOf(jsonl(entries))).compactions).toMatchObject([{ fromMessageId: "u1", toMessageId: "u1" }]);
  });

  it("have a summary over all of its path where the entry that it keeps is not there", async () => {
    const entries = [
      header,
      said("u1", null, user("x")),
      said("u2", "u1", user("y")),
      node("c1", "u2", { type: "compaction", summary: "S", firstKeptEntryId: "gone" }),
    ];
    const { compactions } = await sessionOf(jsonl(entries));
    expect(compactions).toMatchObject([{ fromMessageId: "u1", toMessageId: "u2" }]);
  });

  it("report a compaction that covers nothing", async () => {
    const entries = [
      header,
      said("u1", null, user("x")),
      node("c1", "u1", { type: "compaction", summary: "S", firstKeptEntryId: "u1" }),
    ];
    const session = await sessionOf(jsonl(entries));
    expect(session.compactions).toEqual([]);
    expect(session.skipped).toEqual([{ line: 3, why: expect.stringContaining("covers no message") }]);
    expect(atOnce(toPi(asStored(session)))).toEqual(entries);
  });

  it("report lines that are no entries, entries without their parent, and ids that come twice", async () => {
    const lines = [
      header,
      said("u1", null, user("x")),
      { no: "type" },
      said("u2", "gone", user("y")),
      said("u1", "u2", user("z")),
    ];
    const session = await sessionOf(`${jsonl(lines)}{"type":"mess`);
    expect(session.skipped.map(({ line }) => line)).toEqual([3, 4, 5, 6]);
    expect(session.messages.map(({ message, parentId }) => [message.id, parentId])).toEqual([
      ["u1", null],
      ["u2", "u1"],
    ]);
  });
});

describe("an export to pi", () => {
  const added = (id: string, parentId: string | null) => ({
    message: { id, role: "user", parts: [text(id)], createdAt: time },
    parentId,
    at: { line: 0 },
  });

  it("adds what was said after the import, in the form that the file has", async () => {
    const session = await sessionOf(jsonl(firstVersion));
    const end = session.activeLeafId ?? "";
    const grown = { ...session, messages: [...session.messages, added("new", end)], activeLeafId: "new" };
    const lines = atOnce(toPi(asStored(grown)));
    expect(lines).toEqual([...firstVersion, entry({ ...user("new"), timestamp: Date.parse(time) })]);
  });

  it("gives the entries ids where the session has branches by now", async () => {
    const session = await sessionOf(jsonl(firstVersion));
    const ids = idsOf(session);
    const grown = { ...session, messages: [...session.messages, added("new", ids[2] ?? "")], activeLeafId: "new" };
    const lines = atOnce(toPi(asStored(grown)));
    expect(lines.slice(1).filter(({ id, parentId }) => id === undefined || parentId === undefined)).toEqual([]);
    const again = await sessionOf(jsonl(lines));
    expect(atOnce(pathOf(asStored(again))).map(({ id }) => id)).toEqual([ids[0], ids[1], ids[2], "new"]);
    expect(atOnce(pathOf(asStored(again), ids.at(-1))).map(({ id }) => id)).toEqual(ids);
    expect(again.compactions).toMatchObject([{ fromMessageId: ids[0], toMessageId: ids[2] }]);
  });

  it("writes sessions that were never pi's, so that they read back", async () => {
    const session: ParsedSession = {
      id: "own",
      name: "Own",
      source: "chat",
      messages: [
        { message: { id: "s", role: "system", parts: [text("be kind")] }, parentId: null, at: { line: 0 } },
        added("u", "s"),
        {
          message: {
            id: "a",
            role: "assistant",
            parts: [
              { type: "tool-add", toolCallId: "c", state: "output-available", input: { a: 1 }, output: { sum: 2 } },
              { type: "step-start" },
              text("two"),
            ],
          },
          parentId: "u",
          at: { line: 0 },
        },
        added("v", "a"),
        added("w", "u"),
      ],
      compactions: [{ id: "k", summary: "Kindness.", fromMessageId: "s", toMessageId: "u" }],
      activeLeafId: "v",
      skipped: [],
    };
    const lines = atOnce(toPi(asStored(session)));
    expect(lines[0]).toMatchObject({ type: "session", version: 3, id: "own" });
    const again = await sessionOf(jsonl(lines));
    expect(again).toMatchObject({ id: "own", name: "Own", activeLeafId: "v", skipped: [] });
    expect(again.compactions).toMatchObject([{ id: "k", summary: "Kindness.", fromMessageId: "s", toMessageId: "u" }]);
    expect(atOnce(pathOf(asStored(again))).map(({ id, parts }) => [id, parts.map(({ type }) => type)])).toEqual([
      ["s", ["text"]],
      ["u", ["text"]],
      ["a", ["dynamic-tool"]],
      ["a-2", ["text"]],
      ["v", ["text"]],
    ]);
    expect(atOnce(pathOf(asStored(again), "w")).map(({ id }) => id)).toEqual(["s", "u", "w"]);
  });
});

function idsOf(session: ParsedSession): string[] {
  return session.messages.map(({ message }) => message.id);
}
