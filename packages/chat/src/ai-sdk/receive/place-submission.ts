import { answeredNow } from "@stemma/model";
import type { ToolSet, UIMessage } from "ai";
import { finishedSteps, isWaiting, mergeResults, unmarked } from "../message/parts.js";
import type { RunSession } from "../run/hold.js";
import type { Submission } from "./submission.js";
import { findTarget, isBroken, newestAnswer, type PlacedQuestion, placeQuestion, type Target } from "./target.js";

type Again = Target & { readonly kind: "again" };
type Results = Target & { readonly kind: "results" };

/** The outcome of a submission, once it is in the tree. */
export type Placed =
  | PlacedAnswer
  /** It was answered before. */
  | { readonly kind: "replay"; readonly message: UIMessage }
  /** It was stored, and nothing is to be answered yet: calls still wait, or nothing is new. */
  | { readonly kind: "nothing"; readonly answerId: string };

export interface PlacedAnswer {
  readonly kind: "answer";
  readonly questionId: string | null;
  readonly answerId: string;
  /** The message that the answer goes on from; null for an answer that begins. */
  readonly base: UIMessage | null;
  /** True when the client has the base already. */
  readonly clientHolds: boolean;
  readonly leafBefore: string | null;
  /** The user's message whose content came under the id `given`, and which is stored under another one. */
  readonly edited: { readonly given: string; readonly stored: string } | null;
}

/**
 * Puts into the tree what a client submits, and makes what is to be answered the active leaf.
 * Errors: `INVALID_MESSAGE`, `MESSAGE_NOT_FOUND`, `RUN_LOST`, and those of an append.
 */
export async function placeSubmission(session: RunSession, submission: Submission, tools: ToolSet): Promise<Placed> {
  const target = await findTarget(session, submission);
  switch (target.kind) {
    case "again":
      return placeAgain(session, target);
    case "results":
      return placeResults(session, target, tools);
    case "question":
      return placed(session, await placeQuestion(session, target.given, target.messages));
    case "unanswered":
      return placed(session, { question: target.question, isNew: false, edited: null });
  }
}

async function placed(session: RunSession, { question, isNew, edited }: PlacedQuestion): Promise<Placed> {
  if (isNew) return begin(question.id, { edited });
  const answer = await newestAnswer(session, question.id);
  if (answer === null) {
    await activate(session, question.id);
    return begin(question.id, { edited });
  }
  if (isBroken(answer)) return { ...(await goOn(session, question.id, answer)), edited };
  await session.selectBranch(answer.id);
  return { kind: "replay", message: answer };
}

async function placeResults(session: RunSession, { stored, given }: Results, tools: ToolSet): Promise<Placed> {
  const results = mergeResults(stored, given.parts, tools);
  const merged = results === stored ? stored : answeredNow(stored, results);
  if (merged !== stored) await session.updateMessage(unmarked(merged));
  const parent = await session.getParent(stored.id);
  if (merged === stored && isBroken(stored)) {
    return { ...(await goOn(session, parent?.id ?? null, stored)), clientHolds: true };
  }
  if (merged === stored || isWaiting(merged)) return { kind: "nothing", answerId: stored.id };
  await activate(session, stored.id);
  return begin(parent?.id ?? null, { answerId: stored.id, base: unmarked(merged), clientHolds: true });
}

/** Asks a question again. An answer that was interrupted goes on; beside any other one comes a sibling. */
async function placeAgain(session: RunSession, { question, answer }: Again): Promise<Placed> {
  if (answer !== null && isBroken(answer)) return goOn(session, question?.id ?? null, answer);
  const questionId = (question as UIMessage).id;
  const leaf = await session.getLatestLeaf();
  await activate(session, questionId);
  return begin(questionId, { leafBefore: leaf?.id === questionId ? null : (leaf?.id ?? null) });
}

async function goOn(session: RunSession, questionId: string | null, answer: UIMessage): Promise<PlacedAnswer> {
  const base = finishedSteps(answer);
  const isBegun = base.parts.some(({ type }) => type !== "step-start");
  if (isBegun) await session.updateMessage(base);
  const start = isBegun ? answer.id : questionId;
  if (start !== null) await activate(session, start);
  return begin(questionId, { answerId: answer.id, base: isBegun ? base : null, leafBefore: answer.id });
}

function begin(questionId: string | null, given: Partial<Omit<PlacedAnswer, "kind" | "questionId">>): PlacedAnswer {
  const fresh = { answerId: crypto.randomUUID(), base: null, clientHolds: false, leafBefore: null, edited: null };
  return { kind: "answer", questionId, ...fresh, ...given };
}

async function activate(session: RunSession, messageId: string): Promise<void> {
  if ((await session.getLatestLeaf())?.id !== messageId) await session.setActiveLeaf(messageId);
}
