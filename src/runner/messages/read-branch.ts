import { isSummaryMessage, type SessionMessage } from "../../model/message.js";
import type { Session } from "../../session/session.js";

/** The stored messages of the active branch: the originals in place of summaries. */
export async function readBranch(session: Session): Promise<SessionMessage[]> {
  const history = await session.getHistory();
  if (!history.some(isSummaryMessage)) return history;
  const parts = await Promise.all(
    history.map((message) => (isSummaryMessage(message) ? session.expandCompaction(message.id) : [message])),
  );
  return parts.flat();
}
