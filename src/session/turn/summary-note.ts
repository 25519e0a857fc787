import { isSummaryMessage, type SessionMessage, SUMMARY_ID_PREFIX } from "../../model/message.js";
import type { TurnNote } from "./notes.js";

/** How a model can reach messages that a summary stands for. */
export interface Reach {
  /** The names of all tools of the request. */
  readonly tools: ReadonlySet<string>;
  /** The label of a block that searches messages, of this session too; undefined without one. */
  readonly searchable: string | undefined;
}

/**
 * What is told behind the first summary of a history, lest the model takes it for the conversation's end and begins again. It is
 * the same in every request with this summary and these tools. Null without a summary.
 */
export function summaryNote(messages: readonly SessionMessage[], reach: Reach): TurnNote | null {
  const summary = messages.find(isSummaryMessage);
  if (summary === undefined) return null;
  const ways = waysTo(summary.id.slice(SUMMARY_ID_PREFIX.length), reach);
  const how = ways.length === 0 ? "" : ` They are still there: ${ways.join("; ")}.`;
  const update = `[The text above summarises earlier messages of this conversation. What they did is done: go on from there, and do not begin again.${how}]`;
  return { messageId: summary.id, update, blocks: {}, recall: "", recalled: [] };
}

function waysTo(id: string, { tools, searchable }: Reach): string[] {
  const ways: string[] = [];
  if (tools.has("expand_summary")) ways.push(`read them with expand_summary, id "${id}"`);
  if (tools.has("session_search")) ways.push("find one with session_search");
  else if (searchable !== undefined) ways.push(`find one with search_context, label "${searchable}"`);
  return ways;
}
