import { StemmaError } from "../../errors.js";
import { applyCompactions, summaryMessage } from "../../model/compactions.js";
import type { SessionMessage } from "../../model/message.js";
import type { StoredCompaction } from "../../storage/contract.js";
import { type ContextExplanation, explainTurn } from "./explain.js";
import type { TurnSources } from "./present.js";
import type { TurnRecord } from "./record.js";

/** What a past request was made of. */
export async function explainPast(
  { backend, context }: TurnSources,
  turn: TurnRecord,
  compactions: readonly StoredCompaction[],
): Promise<ContextExplanation> {
  const visible = compactions.filter((compaction) => turn.summaryIds.includes(summaryMessage(compaction).id));
  const messages = applyCompactions(await pathTo(backend, turn.leafId), visible);
  return explainTurn(turn, { messages, blocks: context.live.all, compactions });
}

async function pathTo(backend: TurnSources["backend"], leafId: string | null): Promise<SessionMessage[]> {
  if (leafId === null) return [];
  try {
    return (await backend.path({ leafId, summaries: false, onCorrupt: "skip" })).messages;
  } catch (error) {
    if (StemmaError.isInstance(error, "MESSAGE_NOT_FOUND")) return [];
    throw error;
  }
}
