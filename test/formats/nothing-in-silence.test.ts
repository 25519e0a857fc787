// Every format side by side: what a reader does not understand is in the report, and what it understands is in the messages.
import { convertToModelMessages, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { importSession } from "../../src/formats/import/import-session.js";
import type { ParsedSession } from "../../src/formats/session-file.js";
import { memory } from "../../src/memory.js";
import type { Store } from "../../src/storage/contract.js";
import { collect, jsonl, sessionsOf } from "../cli/read.js";
import { EXAMPLES, textOf } from "./example-files.js";

/** Types of parts that a model is shown. */
const SHOWN = /^(text|reasoning|file|dynamic-tool|tool-\w+)$/;

/** What is read of a text: all that the parts of the path's messages say, how many say anything, and what was left out. */
async function read(text: string) {
  const sessions: ParsedSession[] = [];
  const report: string[] = [];
  try {
    sessions.push(...(await sessionsOf(text)));
  } catch (error) {
    report.push(String(error));
  }
  report.push(...sessions.flatMap(({ skipped }) => skipped.map(({ why }) => why)));
  const messages = sessions.flatMap((session) => (session.isUnread === true ? [] : session.messages));
  const parts = messages.flatMap(({ message }) => message.parts);
  const shown = parts.filter(({ type }) => SHOWN.test(type));
  const speaking = messages.filter(({ message }) => message.parts.some(({ type }) => SHOWN.test(type)));
  return { sessions, report, parts, shown: JSON.stringify(shown), messages: speaking.length };
}

describe.each(Object.entries(EXAMPLES))("a file of %s", (_, example) => {
  it("is recognised, and its calls, results and texts are parts that models see", async () => {
    const { sessions, report, shown, parts } = await read(textOf(example));
    expect(sessions.map(({ source }) => source)).toEqual([example.source]);
    expect(report).toEqual([]);
    expect(shown).toContain("Where does the heron nest?");
    expect(shown).toContain("In the reeds.");
    if (JSON.stringify(example.values).includes("I look it up."))
      expect(parts).toContainEqual(expect.objectContaining({ type: "reasoning" }));
    const call = parts.find(({ toolCallId }) => toolCallId !== undefined);
    if (example.withoutResults !== true)
      expect(call).toMatchObject({ state: "output-available", input: { city: "Oslo" }, output: "mild" });
    const messages = sessions.flatMap((session) => session.messages.map(({ message }) => message));
    await expect(convertToModelMessages(messages as unknown as UIMessage[])).resolves.toBeInstanceOf(Array);
  });

  it("adds nothing when it is imported again", async () => {
    const store = memory();
    for (const session of await sessionsOf(textOf(example))) await importSession(store, session);
    for (const session of await sessionsOf(textOf(example)))
      expect(await importSession(store, session)).toMatchObject({ inserted: 0, updated: 0 });
  });

  it("comes to the same where it is imported again each time that it has grown by a line", async () => {
    const [whole, grown] = [memory(), memory()];
    // An id that no line gives is derived from the first two messages.
    for (let length = Math.min(2, example.values.length); length <= example.values.length; length += 1) {
      for (const session of await sessionsOf(jsonl(example.values.slice(0, length))))
        await importSession(grown, session);
    }
    const [session] = await sessionsOf(textOf(example));
    if (session === undefined) throw new RangeError("no session");
    await importSession(whole, session);
    const stored = async (store: Store) =>
      (await collect(store.session(session.id).messages())).map(({ message }) => message.parts);
    expect(await stored(grown)).toEqual(await stored(whole));
  });

  it("names what is not understood, wherever it stands", async () => {
    const whole = await read(textOf(example));
    const silent: string[] = [];
    for (const { values, path } of mutations(example.values)) {
      const { shown, report, messages } = await read(jsonl(values));
      // Where something is missing, only a message that says nothing then is missed.
      const isLess = path.endsWith("= undefined") ? messages < whole.messages : shown.length < whole.shown.length;
      const isShown = /mystery|98765/.test(shown);
      if (isLess && !isShown && report.length === 0) silent.push(`${path}: ${shown}`);
    }
    expect(silent).toEqual([]);
  });

  it("is not imported where nothing of it is understood", async () => {
    const { sessions, report } = await read(jsonl(renamed(example.values) as unknown[]));
    expect(report.length).toBeGreaterThan(0);
    const store = memory();
    for (const session of sessions) expect(await importSession(store, session)).toBe(null);
  });
});

/** Fields that hold what was said, and the types that say how. */
const SAID = ["type", "text", "content", "parts", "message", "thinking", "think", "reasoning", "toolInvocations"];

/** Fields of a result of a tool. */
const RESULTS = ["tool_use_id", "tool_call_id", "toolCallId", "functionResponse"];

/** Each file in which one of these fields holds a value that no reader knows, or is missing. */
function* mutations(value: unknown[]): Generator<{ values: unknown[]; path: string }> {
  for (const { copy, path } of changed(value, "$")) yield { values: copy as unknown[], path };
}

function* changed(value: unknown, path: string): Generator<{ copy: unknown; path: string }> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const { copy, path: at } of changed(item, `${path}[${index}]`))
        yield { copy: value.with(index, copy), path: at };
    return;
  }
  if (typeof value !== "object" || value === null) return;
  const object = value as Record<string, unknown>;
  // What a tool gave is stored whatever it is.
  if (RESULTS.some((field) => field in object) || object.role === "toolResult") return;
  for (const [key, item] of Object.entries(object)) {
    const at = `${path}.${key}`;
    if (SAID.includes(key)) {
      for (const bad of key === "type" ? ["mystery", 98765] : [{ mystery: 1 }, 98765, [{ type: "mystery" }], undefined])
        yield { copy: { ...object, [key]: bad }, path: `${at} = ${JSON.stringify(bad)}` };
    }
    for (const { copy, path: inner } of changed(item, at)) yield { copy: { ...object, [key]: copy }, path: inner };
  }
}

/** The file with another name for every field that says something. */
function renamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamed);
  if (typeof value !== "object" || value === null) return value;
  const fields = [
    "text",
    "content",
    "parts",
    "thinking",
    "think",
    "thoughts",
    "output",
    "toolCalls",
    "toolInvocations",
    "tool_calls",
    "name",
    "tool_call",
    "recipient",
    "summary",
    "functionCall",
    "functionResponse",
    "arguments",
    "reasoning_content",
    "tool",
  ];
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [fields.includes(key) ? `${key}_x` : key, renamed(item)]),
  );
}
