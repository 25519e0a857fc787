import { describe, expect, it } from "vitest";
import { messageOf } from "../../../../../test/helpers/messages.js";
import type { SessionMessage, SessionMessagePart } from "../../../src/messages/message.js";
import {
  createLoadFinder,
  hideUnloaded,
  NO_SKILLS,
  recordLoad,
  recordUnload,
  type SkillState,
} from "../../../src/messages/skill-view.js";

const NOTE = "[Unloaded: skills/deploy. Call load_context to load it again.]";

function loadPart(toolCallId: string, more: Partial<SessionMessagePart> = {}): SessionMessagePart {
  const input = { label: "skills", key: "deploy" };
  return { type: "tool-load_context", toolCallId, state: "output-available", input, output: "whole text", ...more };
}

function unload(state: SkillState, through: number): SkillState {
  const next = recordUnload(state, "skills", "deploy", through);
  if (!next) throw new Error("not loaded");
  return next;
}

describe("recording", () => {
  it("knows what is loaded and by which calls", () => {
    let state = recordLoad(NO_SKILLS, "skills", "deploy", "call-1");
    state = recordLoad(state, "Skills", "deploy", "call-2");
    state = recordLoad(state, "skills", "other");
    expect(state.loaded).toEqual([
      { label: "Skills", key: "deploy", toolCallIds: ["call-1", "call-2"] },
      { label: "skills", key: "other", toolCallIds: [] },
    ]);
    expect(NO_SKILLS.loaded).toEqual([]);
  });

  it("does not unload what is not loaded", () => {
    expect(recordUnload(NO_SKILLS, "skills", "deploy", 1)).toBeNull();
    const state = unload(recordLoad(NO_SKILLS, "skills", "deploy", "call-1"), 1);
    expect(recordUnload(state, "skills", "deploy", 2)).toBeNull();
  });

  it("remembers the calls of earlier unloads", () => {
    let state = unload(recordLoad(NO_SKILLS, "skills", "deploy", "call-1"), 1);
    state = unload(recordLoad(state, "skills", "deploy", "call-2"), 5);
    expect(state).toEqual({
      loaded: [],
      unloaded: [{ label: "skills", key: "deploy", toolCallIds: ["call-1", "call-2"], through: 5 }],
    });
  });
});

describe("hideUnloaded", () => {
  const unloaded = unload(recordLoad(NO_SKILLS, "skills", "deploy", "call-1"), 10);

  it("returns the message itself when nothing is hidden", () => {
    const message = messageOf({ type: "text", text: "hi" }, loadPart("call-9"));
    expect(hideUnloaded(message, 3, NO_SKILLS)).toBe(message);
    expect(hideUnloaded(message, 11, unloaded)).toBe(message);
    expect(hideUnloaded(message, null, unloaded)).toBe(message);
  });

  it("hides the results of the recorded calls wherever they were stored, and changes nothing else", () => {
    const message = messageOf({ type: "text", text: "hi" }, loadPart("call-1"));
    const before = structuredClone(message);
    expect(hideUnloaded(message, 99, unloaded)).toEqual(
      messageOf({ type: "text", text: "hi" }, loadPart("call-1", { output: NOTE })),
    );
    expect(hideUnloaded(message, null, unloaded).parts[1]?.output).toBe(NOTE);
    expect(message).toEqual(before);
  });

  it("hides what was stored before the unload by label and key, whatever the call's id", () => {
    const variants = [
      loadPart("other"),
      loadPart("other", { input: { label: "SKILLS", key: "deploy" } }),
      loadPart("other", { input: { block: "skills", key: "deploy" } }),
    ];
    for (const part of variants) expect(hideUnloaded(messageOf(part), 10, unloaded).parts[0]?.output).toBe(NOTE);
    for (const input of [{ label: "skills", key: "Deploy" }, { label: "other", key: "deploy" }, null, "deploy"]) {
      expect(hideUnloaded(messageOf(loadPart("other", { input })), 10, unloaded).parts[0]?.output).toBe("whole text");
    }
  });

  it("shows a document that was loaded again, even within the message that holds the unloaded one", () => {
    const state = recordLoad(unloaded, "skills", "deploy", "call-2");
    const message = messageOf(loadPart("call-1"), loadPart("call-2"));
    expect(hideUnloaded(message, 10, state).parts.map((part) => part.output)).toEqual([NOTE, "whole text"]);
    expect(hideUnloaded(messageOf(loadPart("call-2")), 12, state).parts[0]?.output).toBe("whole text");
  });

  it("knows a tool part under each of its names and keeps the output's shape", () => {
    const outputs: [unknown, unknown][] = [
      ["text", NOTE],
      [
        { type: "text", value: "text" },
        { type: "text", value: NOTE },
      ],
      [
        { type: "json", value: { a: 1 } },
        { type: "json", value: NOTE },
      ],
      [
        {
          type: "content",
          value: [
            { type: "text", text: "text" },
            { type: "media", data: "…" },
          ],
        },
        { type: "content", value: [{ type: "text", text: NOTE }] },
      ],
    ];
    for (const type of ["tool-load_context", "dynamic-tool", "tool-result"]) {
      for (const [output, hidden] of outputs) {
        const { state, ...content } = loadPart("call-1", { type, toolName: "load_context", output });
        // Only UI parts have a state.
        const part = type === "tool-result" ? content : { ...content, ...(state !== undefined && { state }) };
        expect(hideUnloaded(messageOf(part), 3, unloaded).parts[0]?.output).toEqual(hidden);
      }
    }
  });

  it("knows results that do not name their tool by the call's id", () => {
    const part = { type: "tool_result", tool_use_id: "call-1", content: "whole text" };
    expect(hideUnloaded(messageOf(part), 3, unloaded).parts[0]).toEqual({ ...part, content: NOTE });
    const other = { ...part, tool_use_id: "call-9" };
    expect(hideUnloaded(messageOf(other), 3, unloaded).parts[0]).toBe(other);
  });

  it("leaves calls without a result, and other tools, alone", () => {
    const { output: _, ...call } = loadPart("call-1", { type: "tool-call", toolName: "load_context" });
    const other = loadPart("call-1", { type: "tool-search_context" });
    const message = messageOf(call, other);
    expect(hideUnloaded(message, 3, unloaded)).toEqual(message);
  });
});

describe("createLoadFinder", () => {
  const callsIn = (...newestFirst: SessionMessage[]) => {
    const loads = createLoadFinder();
    for (const message of newestFirst) loads.look(message);
    return loads.callsOf("SKILLS", "deploy");
  };

  it("finds the calls whose document is still there, newest first", () => {
    const { toolCallId: _id, ...nameless } = loadPart("");
    const dynamic = loadPart("call-2", { type: "dynamic-tool", toolName: "load_context" });
    expect(callsIn(messageOf(dynamic, nameless), messageOf(loadPart("call-1")))).toEqual([null, "call-2", "call-1"]);
  });

  it("finds calls whose result stands in a part of its own, after them", () => {
    const input = { block: "skills", key: "deploy" };
    const call = { type: "tool_use", id: "call-1", name: "load_context", input };
    const result = { type: "tool_result", tool_use_id: "call-1", content: [{ type: "text", text: "whole text" }] };
    expect(callsIn(messageOf(result), messageOf(call))).toEqual(["call-1"]);
    expect(callsIn(messageOf(call, result))).toEqual(["call-1"]);
    expect(callsIn(messageOf(call))).toEqual([]);
    expect(callsIn(messageOf({ ...result, content: NOTE }), messageOf(call))).toEqual([]);
  });

  it.each([
    ["what was unloaded", { output: NOTE }],
    ["what agents unloaded", { output: "[skill unloaded: deploy]" }],
    ["what was not there", { output: "Not found: deploy" }],
    ["what has no answer yet", { output: undefined, state: "input-available" }],
    ["another document", { input: { label: "skills", key: "other" } }],
    ["another tool", { type: "tool-search_context" }],
    ["a call without its input", { input: undefined }],
  ])("passes over %s", (_title, more) => {
    expect(callsIn(messageOf({ type: "text", text: "hi" }, loadPart("call-1", more)))).toEqual([]);
  });
});
