import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { StemmaError } from "../../errors.js";
import { isInterrupted } from "../../model/tool-calls.js";
import type { Session } from "../../session/session.js";
import { hasContent, marked, tidied } from "../message/parts.js";
import { streamOf } from "../message/replay.js";
import type { KnownRun, RunLog, RunState } from "./log.js";

/**
 * Ends a run whose process died. What it had written of its answer is stored and marked, and the run can be continued. Of
 * several processes that find it one does so; the others go on.
 */
export async function recover(session: Session, log: RunLog, { state, version }: KnownRun): Promise<void> {
  const chunks = await log.allChunks(state.runId);
  const isComplete = chunks.some(({ type }) => type === "finish");
  const ended = { ...state, status: isComplete ? "completed" : "interrupted" } as const;
  if ((await log.write(ended, version)) === null) return;
  const stored = await session.getMessage<UIMessage>(state.answerId);
  const found = await answerOf(stored, chunks, state.answerId);
  if (found !== null && hasContent(found)) {
    await keepAnswer(session, isComplete ? found : marked(tidied(found), "killed"), state);
  }
  await leaveAtAnswer(session, state);
}

// A question that was deleted meanwhile needs no answer.
async function keepAnswer(session: Session, answer: UIMessage, { questionId }: RunState): Promise<void> {
  try {
    await session.upsertMessage(answer, questionId);
  } catch (error) {
    if (!StemmaError.isInstance(error, "PARENT_NOT_FOUND")) throw error;
  }
}

/** Makes the newest leaf below an answer the active one; where there is no answer, the leaf that was so before. */
export async function leaveAtAnswer(session: Session, run: Pick<RunState, "answerId" | "questionId" | "leafBefore">) {
  const [leaf, answer] = await Promise.all([session.getLatestLeaf(), session.getMessage(run.answerId)]);
  if (leaf === null || (leaf.id !== run.questionId && leaf.id !== run.answerId)) return;
  if (answer !== null) {
    const isLeaf = leaf.id === answer.id && (await session.getBranches(answer.id)).length === 0;
    if (!isLeaf) await session.selectBranch(answer.id);
  } else if (run.leafBefore !== null && (await session.getMessage(run.leafBefore)) !== null) {
    await session.setActiveLeaf(run.leafBefore);
  }
}

// Steps were stored when they had finished; what came after the last of them is in the chunks.
async function answerOf(stored: UIMessage | null, chunks: UIMessageChunk[], id: string): Promise<UIMessage | null> {
  if (stored === null || isInterrupted(stored)) return fold({ id, role: "assistant", parts: [] }, chunks);
  const finished = chunks.findLastIndex(({ type }) => type === "finish-step");
  return fold(stored, chunks.slice(finished + 1));
}

async function fold(message: UIMessage, chunks: readonly UIMessageChunk[]): Promise<UIMessage> {
  let latest = message;
  const stream = streamOf(chunks);
  for await (const state of readUIMessageStream({ message: structuredClone(message), stream, onError: () => {} })) {
    latest = state;
  }
  return latest;
}
