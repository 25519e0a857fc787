import { modelMessages, repairInPieces } from "@stemma/chat";
import type { SessionMessage } from "@stemma/model";
import { isInterrupted, isToolPart } from "@stemma/model";
import type { PreparedTurn } from "@stemma/session";
import { coreOf, type Session } from "@stemma/session";
import { type Outcome, observedValues } from "@stemma/store";
import type { ModelMessage, UIMessage } from "ai";
import type { ActiveBranch } from "./active-branch.js";
import type { TurnLog, TurnOptions } from "./create-options.js";
import type { ModelObject } from "./models/model.js";
import { agentUsage, loadAiSdk } from "./models/model.js";
import type { SessionRecord } from "./session-record.js";
import type { AgentTools } from "./tools/agent-tools.js";
import { runTurn } from "./turn.js";
import type { AgentEvent, ContentBlock } from "./types.js";

type AgentEvents = AsyncGenerator<AgentEvent, void, undefined>;

interface AgentTurnOptions extends Omit<TurnOptions, "store" | "sessionId"> {
  readonly systemPrompt: string;
}

/** A turn of a session, which asks with what `prepareTurn` gives and writes to the active branch. */
export async function* agentTurn(
  session: Session,
  record: SessionRecord,
  branch: ActiveBranch,
  { systemPrompt, ...options }: AgentTurnOptions,
): AgentEvents {
  const { store } = coreOf(session);
  const { model } = options;
  const tools = { ...(await session.tools()), ...options.tools };
  let turn: PreparedTurn | null = null;
  const log: TurnLog = {
    request: async () => {
      branch.read();
      turn = await session.prepareTurn({ tools: options.tools });
      const { system, messages } = turn;
      const texts = [systemPrompt, system].filter((text) => text !== "");
      return { system: texts.join("\n\n"), messages: await requestOf(messages, tools, model) };
    },
    rewritten: () => branch.compacted,
    update: async () => turn?.update() ?? null,
    write: async (message) => {
      await branch.put(message);
      record.touch();
    },
    addUsage: (usage, answered) => record.addUsage(usage, answered),
  };
  const events = runTurn(log, { ...options, tools, store, sessionId: session.id });
  yield* observedTurn(session, { name: record.source, model: model.modelId }, events);
}

// Of a turn the store's observer is told, where there is one.
function observedTurn(
  session: Session,
  agent: { name: string | undefined; model: string },
  events: AgentEvents,
): AgentEvents {
  const { store } = coreOf(session);
  if (store?.observer === undefined) return events;
  let outcome: Outcome = { result: undefined };
  async function* noting(): AgentEvents {
    for await (const event of events) {
      if (event.type === "error") outcome = { failure: event.error };
      else if (event.type === "stop" && "result" in outcome) outcome = { result: agentUsage(event.usage) };
      yield event;
    }
  }
  const observed = { type: "agent", name: "invokeAgent", sessionId: session.id, agent } as const;
  return observedValues(store, observed, noting(), () => outcome);
}

/**
 * The history as a model is to see it: nothing in it that its provider refuses, whatever an aborted turn, an import or
 * another provider's model has left there.
 */
async function requestOf(
  history: readonly SessionMessage[],
  tools: AgentTools,
  model: ModelObject,
): Promise<ModelMessage[]> {
  const { convertToModelMessages } = await loadAiSdk();
  const shown = history.map((message, index) => withoutTail(message, history[index + 1]));
  const known = withBlockOutputs(tools);
  const accepted = await repairInPieces(shown, model, { tools: known });
  return modelMessages(convertToModelMessages, accepted as UIMessage[], { tools: known as never });
}

function withoutTail(message: SessionMessage, next: SessionMessage | undefined): SessionMessage {
  if (!isInterrupted(message) || next?.role === "user") return message;
  return { ...message, parts: message.parts.slice(0, message.parts.findLastIndex(isToolPart) + 1) };
}

/** Tools that the host answers: a result in blocks is shown as its texts and images. Others say themselves how. */
function withBlockOutputs(tools: AgentTools): Record<string, object> {
  const answered = Object.entries(tools).map(([name, tool]) =>
    tool.execute === undefined ? ([name, { toModelOutput, ...tool }] as const) : ([name, tool] as const),
  );
  return Object.fromEntries(answered);
}

function toModelOutput({ output }: { output: unknown }): object {
  if (typeof output === "string") return { type: "text", value: output };
  if (Array.isArray(output) && output.length > 0 && output.every(isTextOrImage)) {
    return { type: "content", value: output.map(contentOf) };
  }
  return { type: "json", value: output };
}

type TextOrImage = Extract<ContentBlock, { type: "text" | "image" }>;

function isTextOrImage(block: unknown): block is TextOrImage {
  const { type } = (block ?? {}) as { type?: unknown };
  return type === "text" || type === "image";
}

function contentOf(block: TextOrImage): object {
  if (block.type === "text") return { type: "text", text: block.text };
  const { source } = block;
  if (source.type === "url") return { type: "image-url", url: source.url };
  return { type: "image-data", data: source.data, mediaType: source.media_type };
}
