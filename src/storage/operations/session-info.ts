import { parseMetadata } from "../../model/session-metadata.js";
import type { SessionInfo } from "../contract.js";
import { SESSION_RANGE } from "./row-id.js";

// A plain append seldom touches the session's row: where it may have been the latest change, the newest message tells.
const changed = (own: string) => `CASE WHEN appended_until > updated_at THEN
  (SELECT m.created_at FROM assistant_messages m WHERE ${own}m.n BETWEEN ${SESSION_RANGE("s.no")} ORDER BY m.n DESC LIMIT 1) END`;

/**
 * A query of sessions `s` that meet `condition`, with `more` of them beside their registry fields: SQL by names of columns.
 * `own` begins a condition on the messages `m` of such a session.
 */
export const sessionsWhere = (own: string, condition: string, more: Readonly<Record<string, string>> = {}) => {
  const columns = Object.entries(more).map(([name, column]) => `${column} AS ${name}, `);
  return `
  SELECT no, id, name, parent_session_id, model, source, input_tokens, output_tokens, estimated_cost, end_reason,
         user_id, metadata, created_at, ${Object.keys(more)
           .map((name) => `${name}, `)
           .join("")}
         CASE WHEN appended_at > updated_at THEN appended_at ELSE updated_at END AS updated_at
  FROM (SELECT s.*, ${columns.join("")}${changed(own)} AS appended_at FROM assistant_sessions s WHERE ${condition}) AS sessions`;
};

/** A row of `sessionsWhere`. */
export type ListedSession = Omit<SessionInfo, "metadata"> & { readonly no: number; readonly metadata: string | null };

/** A row as the registry gives it. */
export function sessionInfo(row: ListedSession): SessionInfo {
  const { no: _no, ...info } = row;
  return {
    ...info,
    metadata: parseMetadata(info.metadata),
    input_tokens: Number(info.input_tokens),
    output_tokens: Number(info.output_tokens),
    estimated_cost: Number(info.estimated_cost),
  };
}
