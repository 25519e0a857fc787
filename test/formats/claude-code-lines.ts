import type { JsonObject } from "../../packages/model/src/lib/json.js";

/** Writes the lines of a transcript of Claude Code, one after the other. */
export class Transcript {
  readonly lines: JsonObject[] = [];
  #count = 0;

  constructor(readonly sessionId: string) {}

  uuid(): string {
    this.#count += 1;
    return `00000000-0000-4000-8000-${String(this.#count).padStart(12, "0")}`;
  }

  /** Adds an entry below `parent`, and gives its uuid. */
  entry(type: string, parent: string | null, fields: JsonObject = {}): string {
    const uuid = this.uuid();
    const timestamp = new Date(1.76e12 + this.#count * 1000).toISOString();
    this.lines.push({
      parentUuid: parent,
      isSidechain: false,
      userType: "external",
      cwd: "/home/ada/mill",
      sessionId: this.sessionId,
      version: "2.1.0",
      gitBranch: "main",
      type,
      uuid,
      timestamp,
      ...fields,
    });
    return uuid;
  }

  user(parent: string | null, content: unknown, fields: JsonObject = {}): string {
    return this.entry("user", parent, { message: { role: "user", content }, ...fields });
  }

  /** One line of the answer `id`. */
  assistant(parent: string | null, id: string, block: JsonObject, fields: JsonObject = {}): string {
    const usage = { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 3 };
    const message = { id, type: "message", role: "assistant", model: "claude-sonnet-5-5", content: [block], usage };
    return this.entry("assistant", parent, { message, requestId: `req_${id}`, ...fields });
  }

  result(parent: string, callId: string, content: unknown, fields: JsonObject = {}): string {
    return this.user(parent, [{ type: "tool_result", tool_use_id: callId, content }], {
      toolUseResult: { stdout: content },
      ...fields,
    });
  }

  /** Summarises what stands above `parent`; `kept` are the uuids that stay behind the summary. */
  compaction(parent: string, summary: string, kept: readonly string[] = []): string {
    const boundary = this.entry("system", null, {
      subtype: "compact_boundary",
      content: "Conversation compacted",
      logicalParentUuid: parent,
      compactMetadata: { trigger: "auto", preTokens: 1000 },
    });
    const anchorUuid = this.user(boundary, summary, { isCompactSummary: true });
    const line = this.lines.at(-2);
    if (kept.length > 0 && line !== undefined) {
      line.compactMetadata = { trigger: "auto", preTokens: 1000, preservedMessages: { anchorUuid, uuids: kept } };
    }
    return anchorUuid;
  }

  other(fields: JsonObject): void {
    this.lines.push({ sessionId: this.sessionId, ...fields });
  }
}

export function text(words: string): JsonObject {
  return { type: "text", text: words };
}

export function call(id: string, input: unknown = {}): JsonObject {
  return { type: "tool_use", id, name: "Bash", input };
}
