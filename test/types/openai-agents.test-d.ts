import type {
  AgentInputItem,
  Session as AgentsSession,
  SessionHistoryRewriteAwareSession,
  SessionHistoryTransactionAwareSession,
} from "@openai/agents";
import type { Session } from "stemma";
import { type OpenaiAgentsSession, openaiAgentsSession } from "stemma/openai-agents";

declare const session: Session;

// What the SDK asks of a session, which our types do not import, with and without the name of its items.
export const named: SessionHistoryRewriteAwareSession & SessionHistoryTransactionAwareSession =
  openaiAgentsSession<AgentInputItem>(session);
export const unnamed: SessionHistoryRewriteAwareSession & SessionHistoryTransactionAwareSession =
  openaiAgentsSession(session);
const kept = openaiAgentsSession(session);
export const given: AgentsSession = kept;
export const items: Promise<AgentInputItem[]> = openaiAgentsSession<AgentInputItem>(session).getItems();

// @ts-expect-error an item is what the SDK says
openaiAgentsSession<AgentInputItem>(session).addItems([{ type: "nothing" }]);
export type Compacted = Parameters<OpenaiAgentsSession<AgentInputItem>["replaceHistoryWithCompaction"]>[0];
