import { coreOf, type Session } from "../session/session.js";
import type { PreparedTurn } from "../session/turn/request.js";
import { type Outcome, observedValues } from "../storage/observed.js";
import type { ActiveBranch } from "./active-branch.js";
import { requestOf } from "./models/request.js";
import { agentUsage } from "./models/usage.js";
import type { SessionRecord } from "./session-record.js";
import { runTurn } from "./turn.js";
import type { TurnLog, TurnOptions } from "./turn-options.js";
import type { AgentEvent } from "./types.js";

type AgentEvents = AsyncGenerator<AgentEvent, void, undefined>;

interface AgentTurnOptions extends Omit<TurnOptions, "store" | "sessionId"> {
  /** The text before the prompt of the blocks. */
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
      await record.touch();
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
  const told = { type: "agent", name: "invokeAgent", sessionId: session.id, agent } as const;
  return observedValues(store, told, noting(), () => outcome);
}
