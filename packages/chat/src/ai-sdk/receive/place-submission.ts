import { answeredNow } from "@stemma/model";
import type { ToolSet, UIMessage } from "ai";
import { finishedSteps, isWaiting, mergeResults, unmarked } from "../message/parts.js";
import type { RunSession } from "../run/hold.js";
import { isBroken, newestAnswer, placeAsFound, placeQuestion, type Target } from "./target.js";

type Again = Extract<Target, { readonly kind: "again" }>;
type Results = Extract<Target, { readonly kind: "results" }>;

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

type Answered = Pick<PlacedAnswer, "questionId" | "answerId" | "leafBefore">;

/** The answer that a run will give if all is as it was found; `answerId` is for an answer that begins. */
export function expectedAnswer(target: Target, answerId: string): Answered {
  const { kind, question, leaf } = target;
  const questionId = question?.id ?? null;
  if (kind === "results") return { questionId, answerId: target.stored.id, leafBefore: null };
  if (kind !== "again") return { questionId, answerId, leafBefore: null };
  if (target.answer !== null && isBroken(target.answer)) {
    return { questionId, answerId: target.answer.id, leafBefore: target.answer.id };
  }
  return { questionId, answerId, leafBefore: leaf?.id === questionId ? null : (leaf?.id ?? null) };
}

/** Puts a question into the tree for which all is as it was found; null where it is not, and nothing was written. Errors: `RUN_LOST`, and those of an append. */
export async function placeFound(session: RunSession, target: Target, answerId: string): Promise<Placed | null> {
  if (target.kind !== "question" || !(await placeAsFound(session, target))) return null;
  return begin(target.question.id, answerId);
}

/**
 * Puts into the tree what a client submits, and makes what is to be answered the active leaf. `answerId` is for an answer that
 * begins, `toolsOf` gives all tools of the request. Errors: `RUN_LOST`, and those of an append.
 */
export async function placeSubmission(
  session: RunSession,
  target: Target,
  answerId: string,
  toolsOf: () => Promise<ToolSet>,
): Promise<Placed> {
  switch (target.kind) {
    case "again":
      return placeAgain(session, target, answerId);
    case "results":
      return placeResults(session, target, await toolsOf());
    case "question": {
      const { question, edited, isStored } = target;
      if (isStored)
        return { ...(await placeStored(session, target, question.id, answerId)), ...(edited && { edited }) };
      await placeQuestion(session, target);
      return begin(question.id, answerId, { edited });
    }
    case "unanswered":
      return placeStored(session, target, target.question.id, answerId);
  }
}

// A question that may have been answered since.
async function placeStored(session: RunSession, target: Target, questionId: string, answerId: string): Promise<Placed> {
  const answer = await newestAnswer(session, questionId);
  if (answer === null) {
    await activate(session, target, questionId);
    return begin(questionId, answerId);
  }
  if (isBroken(answer)) return goOn(session, target, questionId, answer);
  await session.selectBranch(answer.id);
  return { kind: "replay", message: answer };
}

async function placeResults(session: RunSession, target: Results, tools: ToolSet): Promise<Placed> {
  const { stored, given, question } = target;
  const results = mergeResults(stored, given.parts, tools);
  const merged = results === stored ? stored : answeredNow(stored, results);
  if (merged !== stored) await session.updateMessage(unmarked(merged));
  const questionId = question?.id ?? null;
  if (merged === stored && isBroken(stored)) {
    return { ...(await goOn(session, target, questionId, stored)), clientHolds: true };
  }
  if (merged === stored || isWaiting(merged)) return { kind: "nothing", answerId: stored.id };
  await activate(session, target, stored.id);
  return begin(questionId, stored.id, { base: unmarked(merged), clientHolds: true });
}

/** Asks a question again. An answer that was interrupted goes on; beside any other one comes a sibling. */
async function placeAgain(session: RunSession, target: Again, answerId: string): Promise<Placed> {
  const { question, answer } = target;
  if (answer !== null && isBroken(answer)) return goOn(session, target, question?.id ?? null, answer);
  const { leafBefore } = expectedAnswer(target, answerId);
  const questionId = (question as UIMessage).id;
  await activate(session, target, questionId);
  return begin(questionId, answerId, { leafBefore });
}

async function goOn(
  session: RunSession,
  target: Target,
  questionId: string | null,
  answer: UIMessage,
): Promise<PlacedAnswer> {
  const base = finishedSteps(answer);
  const isBegun = base.parts.some(({ type }) => type !== "step-start");
  if (isBegun) await session.updateMessage(base);
  const start = isBegun ? answer.id : questionId;
  if (start !== null) await activate(session, target, start);
  return begin(questionId, answer.id, { base: isBegun ? base : null, leafBefore: answer.id });
}

function begin(
  questionId: string | null,
  answerId: string,
  given: Partial<Omit<PlacedAnswer, "kind" | "questionId" | "answerId">> = {},
): PlacedAnswer {
  const fresh = { base: null, clientHolds: false, leafBefore: null, edited: null };
  return { kind: "answer", questionId, answerId, ...fresh, ...given };
}

async function activate(session: RunSession, { leaf }: Target, messageId: string): Promise<void> {
  if (leaf?.id !== messageId) await session.setActiveLeaf(messageId);
}
