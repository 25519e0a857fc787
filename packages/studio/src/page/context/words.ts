import type { ContextPart, PrefixBreak, RefreshReason } from "@stemma/session";

type Source = ContextPart["source"];

/** The sources in the order in which they are sent. */
export const SOURCES: readonly Source[] = ["tool", "prompt", "block", "summary", "message", "update", "recall"];

export const SOURCE_NAMES: Readonly<Record<Source, string>> = {
  tool: "Tools",
  prompt: "Prompt",
  block: "Blocks",
  summary: "Summaries",
  message: "Messages",
  update: "Changed blocks",
  recall: "Other chats",
};

const REFRESH_REASONS: Readonly<Record<RefreshReason, string>> = {
  first: "It was the first request.",
  compaction: "The conversation was compacted.",
  idle: "The provider's cache had expired.",
  blocks: "The blocks of the session were other ones.",
  size: "More had been told since than the prompt is worth keeping for.",
};

/** Why the prompt was rendered anew. */
export function refreshReason(reason: false | RefreshReason): string {
  return reason === false ? "No, it is the frozen one." : `Yes. ${REFRESH_REASONS[reason]}`;
}

export const BREAK_NAMES: Readonly<Record<PrefixBreak["by"], string>> = {
  first: "first request",
  compaction: "compaction",
  idle: "idle",
  blocks: "blocks",
  size: "size",
  prompt: "prompt",
  tools: "tools",
  branch: "branch",
  edit: "edit",
};

/** Why a prefix broke, as the end of a sentence. */
export const BREAK_CAUSES: Readonly<Record<PrefixBreak["by"], string>> = {
  first: "it was the first request",
  compaction: "the conversation was compacted",
  idle: "the prompt was refreshed after the cache had expired",
  blocks: "the prompt was refreshed for other blocks",
  size: "the prompt was refreshed because much had changed",
  prompt: "the program or another process rendered the prompt anew",
  tools: "the tools changed",
  branch: "another branch was chosen",
  edit: "a message was changed or removed",
};
