import type { ClaudeSessionEntry } from "../../packages/stemma/src/claude.js";

/** Makes the entries of one transcript, as Claude Code writes them, each a second after the last. */
export function transcript(sessionId: string, start = 0) {
  let seconds = start;
  const base = (parent: string | null, fields: object): ClaudeSessionEntry & { uuid: string } => ({
    type: "",
    uuid: crypto.randomUUID(),
    parentUuid: parent,
    timestamp: new Date(Date.UTC(2026, 0, 1) + ++seconds * 1000).toISOString(),
    sessionId,
    isSidechain: false,
    userType: "external",
    cwd: "/tmp/project",
    version: "2.1.330",
    gitBranch: "main",
    ...fields,
  });
  const answered = (content: unknown) => ({
    ...{
      id: `msg_${seconds}`,
      type: "message",
      role: "assistant",
      model: "claude-sonnet-5-5",
      content,
      stop_reason: null,
    },
    usage: { input_tokens: 3, output_tokens: 5 },
  });
  return {
    user: (parent: string | null, content: unknown, fields: object = {}) =>
      base(parent, { type: "user", message: { role: "user", content }, ...fields }),
    assistant: (parent: string | null, content: unknown, fields: object = {}) =>
      base(parent, { type: "assistant", message: answered(content), requestId: "req_1", ...fields }),
    other: (parent: string | null, type: string, fields: object = {}) => base(parent, { type, ...fields }),
  };
}

/** One turn with a tool call, in order: what the user says, a hook's note, the call, its result, and the answer. */
export function turn(sessionId: string, say = "What is in the folder?") {
  const { user, assistant, other } = transcript(sessionId);
  const asked = user(null, say);
  const note = other(asked.uuid, "attachment", { attachment: { type: "hook_success", content: "" } });
  const thought = assistant(note.uuid, [{ type: "thinking", thinking: "Let me look.", signature: "c2ln" }]);
  const call = assistant(thought.uuid, [{ type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "ls" } }]);
  const result = user(
    call.uuid,
    [{ type: "tool_result", tool_use_id: "toolu_1", content: "kiwi.txt", is_error: false }],
    { toolUseResult: { stdout: "kiwi.txt", stderr: "" } },
  );
  const answer = assistant(result.uuid, [{ type: "text", text: "One file about kiwis.", citations: null }]);
  const timed = other(answer.uuid, "system", { subtype: "turn_duration", durationMs: 5 });
  return { asked, note, thought, call, result, answer, timed };
}
