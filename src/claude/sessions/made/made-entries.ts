import { isJsonObject, type JsonObject } from "../../../model/json-object.js";
import type { SessionMessage } from "../../../model/message.js";
import type { ClaudeSessionEntry } from "../types.js";
import type { MadeContent } from "./made-content.js";
import { madeUuid } from "./made-uuid.js";

/** The fields that entries of one transcript share, and that a made one takes over from an entry of Claude. */
const SHARED = ["sessionId", "isSidechain", "agentId", "userType", "cwd", "version", "gitBranch"];

/** What made entries share with another entry of the transcript. */
export function sharedFields(entry: JsonObject): JsonObject {
  const shared = Object.entries(entry).filter(([field]) => SHARED.includes(field));
  return { isSidechain: false, userType: "external", ...Object.fromEntries(shared) };
}

/** Entries as Claude Code writes them, each below the one before, the first one below `parentUuid`. */
export function madeEntries(
  { id, metadata }: SessionMessage,
  contents: readonly MadeContent[],
  shared: JsonObject,
  place: { readonly parentUuid: string | null; readonly timestamp: string },
): ClaudeSessionEntry[] {
  const model = isJsonObject(metadata) && typeof metadata.model === "string" ? metadata.model : "unknown";
  let { parentUuid } = place;
  return contents.map(({ type, blocks }, index) => {
    const uuid = madeUuid(id, contents.length - 1 - index);
    const entry: ClaudeSessionEntry = {
      ...shared,
      type,
      uuid,
      parentUuid,
      timestamp: place.timestamp,
      message: type === "user" ? { role: type, content: contentOf(blocks) } : answerOf(uuid, model, blocks),
    };
    parentUuid = uuid;
    return entry;
  });
}

function answerOf(uuid: string, model: string, content: JsonObject[]): JsonObject {
  const usage = { input_tokens: 0, output_tokens: 0 };
  const end = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
  return {
    ...{ id: `msg_${uuid}`, type: "message", role: "assistant", model, content },
    ...{ stop_reason: end, stop_sequence: null, usage },
  };
}

// A text by itself, as Claude Code writes what a user says.
function contentOf(blocks: JsonObject[]): string | JsonObject[] {
  const [only] = blocks;
  return blocks.length === 1 && only?.type === "text" ? String(only.text) : blocks;
}
