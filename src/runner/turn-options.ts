import type { ModelMessage, streamText } from "ai";
import type { SessionMessage } from "../model/message.js";
import type { ModelObject } from "./models/model.js";
import type { AgentTools, Approve, ToolsOf } from "./tools/agent-tools.js";
import type { ExtendedUsageInfo, ModelPrices } from "./types.js";

/** What the AI SDK's `streamText` takes beside what a session gives it: `temperature`, `maxOutputTokens`, `providerOptions`, … */
export type CallSettings = Omit<
  Parameters<typeof streamText>[0],
  | "model"
  | "system"
  | "prompt"
  | "messages"
  | "tools"
  | "stopWhen"
  | "prepareStep"
  | "abortSignal"
  | "onError"
  | "output"
>;

export interface TurnOptions extends ToolsOf {
  readonly model: ModelObject;
  readonly tools: AgentTools;
  readonly approve: Approve | undefined;
  readonly maxTurns: number;
  readonly prices: ModelPrices | undefined;
  readonly settings: CallSettings;
  readonly signal: AbortSignal;
}

/** What a turn reads and writes. */
export interface TurnLog {
  /** The prompt, and the history as the model is to see it. */
  request(): Promise<{ readonly system: string; readonly messages: ModelMessage[] }>;
  /** True when the history that was last read for a request has since been rewritten (by a compaction). */
  rewritten(): boolean;
  /** What others changed in the blocks since the request, or since this was last asked; null for nothing. */
  update(): Promise<string | null>;
  /** Stores a step's message, as new or in place of its earlier form. */
  write(message: SessionMessage): Promise<void>;
  /** Counts a request, and what it used, for the model that answered. */
  addUsage(usage: ExtendedUsageInfo, model: string): Promise<void>;
}
