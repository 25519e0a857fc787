import { isInterrupted, isSettled, isToolPart, StemmaError, type ToolCallPart } from "@stemma/model";
import type { KnownRun, RunState, RunStatus, Session } from "@stemma/session";
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { hasContent, isWaiting, marked, tidied } from "../message/parts.js";
import { streamOf } from "../message/replay.js";
import { RunHold, type RunSession, runSession } from "./hold.js";
import type { RunLog } from "./log.js";

type Part = UIMessage["parts"][number];

const STEP = "step-start";

/**
 * Ends a run whose process died. What it had written of its answer is stored and marked, and the run can be continued. Of
 * several processes that find it one does so, and the others wait.
 */
export async function recover(session: Session, log: RunLog, dead: KnownRun): Promise<void> {
  const { lease } = dead.state;
  const taken = { ...dead.state, owner: crypto.randomUUID(), leaseUntil: await log.leaseEnd(lease) };
  const known = await log.write(taken, dead.version);
  if (known === null) return;
  const hold = new RunHold(session, log, known);
  try {
    const status = await keepWhatIsThere(session, log, hold);
    await log.chunksEnd(dead.state.runId);
    await hold.change({ status });
  } catch (error) {
    // It took too long, and another process does it now.
    if (!StemmaError.isInstance(error, "RUN_LOST")) throw error;
  }
}

async function keepWhatIsThere(session: Session, log: RunLog, hold: RunHold): Promise<RunStatus> {
  const { state } = hold;
  const own = runSession(session, (writes) => hold.write(writes));
  const chunks = await log.allChunks(state.runId);
  const stored = await session.getMessage<UIMessage>(state.answerId);
  const found = furthest(stored, await fold(state.answerId, chunks));
  const isWhole = chunks.some(({ type }) => type === "finish") || (found === stored && isAnswered(stored));
  const answer = isWhole ? found : marked(tidied(found), "killed");
  if (hasContent(answer)) await keepAnswer(own, answer, state);
  await leaveAtAnswer(own, state);
  return isWhole ? "completed" : "interrupted";
}

// A question that was deleted meanwhile needs no answer.
async function keepAnswer(session: RunSession, answer: UIMessage, { questionId }: RunState): Promise<void> {
  try {
    await session.upsertMessage(answer, questionId);
  } catch (error) {
    if (!StemmaError.isInstance(error, "PARENT_NOT_FOUND")) throw error;
  }
}

/** Makes the newest leaf below an answer the active one; where there is no answer, the leaf that was so before. */
export async function leaveAtAnswer(
  session: RunSession,
  run: Pick<RunState, "answerId" | "questionId" | "leafBefore">,
) {
  const [leaf, answer] = await Promise.all([session.getLatestLeaf(), session.getMessage(run.answerId)]);
  if (leaf === null || (leaf.id !== run.questionId && leaf.id !== run.answerId)) return;
  if (answer !== null) {
    const isLeaf = leaf.id === answer.id && (await session.getBranchIds(answer.id)).length === 0;
    if (!isLeaf) await session.selectBranch(answer.id);
  } else if (run.leafBefore !== null && (await session.getMessage(run.leafBefore)) !== null) {
    await session.setActiveLeaf(run.leafBefore);
  }
}

// Steps were stored when they had finished, and of the chunks the last may be missing: either may be further than the other.
function furthest(stored: UIMessage | null, sent: UIMessage): UIMessage {
  if (stored === null || isInterrupted(stored)) return hasContent(sent) ? sent : (stored ?? sent);
  const results = new Map<string, ToolCallPart>();
  for (const part of sent.parts) if (isToolPart(part) && isSettled(part)) results.set(part.toolCallId, part);
  const parts = stored.parts.map((part) => {
    const result = isToolPart(part) && !isSettled(part) ? results.get(part.toolCallId) : undefined;
    return (result ?? part) as Part;
  });
  const steps = sent.parts.flatMap(({ type }, index) => (type === STEP ? [index] : []));
  const finished = stored.parts.filter(({ type }) => type === STEP).length;
  const begun = steps.length > finished ? sent.parts.slice(steps[finished]) : [];
  const isFurther = begun.length > 0 || parts.some((part, index) => part !== stored.parts[index]);
  return isFurther ? { ...stored, parts: [...parts, ...begun] } : stored;
}

// The model had nothing more to do.
function isAnswered(stored: UIMessage | null): boolean {
  if (stored === null || isInterrupted(stored)) return false;
  const start = stored.parts.findLastIndex(({ type }) => type === STEP);
  return !stored.parts.slice(start + 1).some(isToolPart) || isWaiting(stored);
}

async function fold(id: string, chunks: readonly UIMessageChunk[]): Promise<UIMessage> {
  let message: UIMessage = { id, role: "assistant", parts: [] };
  const given = structuredClone(message);
  for await (const state of readUIMessageStream({ message: given, stream: streamOf(chunks), onError: () => {} })) {
    message = state;
  }
  return { ...message, parts: message.parts.map(withDecision) };
}

// Chunks tell what the user was asked and what came of it, and not what the user said.
function withDecision(part: Part): Part {
  if (!isToolPart(part) || part.approval === undefined || !isSettled(part)) return part;
  const approval = { ...(part.approval as object), approved: part.state !== "output-denied" };
  return { ...part, approval } as Part;
}
