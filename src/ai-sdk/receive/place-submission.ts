import type { ToolSet, UIMessage } from "ai";
import { StemmaError } from "../../errors.js";
import { isInterrupted } from "../../model/tool-calls.js";
import { answeredNow } from "../../model/tool-times.js";
import { mergeResults } from "../message/merge.js";
import { fieldsOf, finishedSteps, isWaiting, unmarked } from "../message/parts.js";
import type { RunSession } from "../run/run-session.js";
import { newestAnswer, type PlacedQuestion, placeQuestion, questionOf } from "./question.js";
import type { GivenMessage, Submission } from "./submission.js";

/** What a submission comes to, once it is in the tree. */
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
  /** What the answer goes on from; null for one that begins. */
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
  if (submission.trigger === "regenerate-message") return placeAgain(session, submission);
  const { messages, messageId } = submission;
  const named = messages.find(({ id, role }) => id === messageId && role === "assistant");
  const given = named ?? messages.at(-1);
  if (given?.role === "assistant") return placeResults(session, given, submission, tools);
  if (given === undefined) throw invalid("The last message is one of the user or of the assistant, with id and parts.");
  return placed(session, await placeQuestion(session, given, messages));
}

/** A question that was stored now, or is repeated. */
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

async function placeResults(
  session: RunSession,
  given: GivenMessage,
  submission: Submission,
  tools: ToolSet,
): Promise<Placed> {
  const stored = await session.getMessage<UIMessage>(given.id);
  if (stored === null) return placeUnanswered(session, submission);
  if (stored.role !== "assistant") throw invalid(`Message "${given.id}" is not the assistant's.`);
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

// Of an answer that broke off before it said anything nothing is stored. Its question is repeated, not answered twice.
async function placeUnanswered(session: RunSession, submission: Submission): Promise<Placed> {
  const { messages } = submission;
  const at = messages.findLastIndex(({ role }) => role === "user");
  const asked = messages[at];
  if (asked !== undefined) return placed(session, await placeQuestion(session, asked, messages.slice(0, at + 1)));
  const { question, answer } = await questionOf(session, submission);
  // Where there is an answer, what was sent is for another one, which nobody gave.
  if (question === null || answer !== null) throw nothingToAnswer();
  return placed(session, { question, isNew: false, edited: null });
}

/** Asks a question again. An answer that was interrupted goes on; beside any other one comes a sibling. */
async function placeAgain(session: RunSession, submission: Submission): Promise<Placed> {
  const { question, answer } = await questionOf(session, submission);
  if (answer !== null && isBroken(answer)) return goOn(session, question?.id ?? null, answer);
  if (question === null) throw nothingToAnswer();
  const leaf = await session.getLatestLeaf();
  await activate(session, question.id);
  return begin(question.id, { leafBefore: leaf?.id === question.id ? null : (leaf?.id ?? null) });
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

// One that the user stopped is as the user wants it.
function isBroken(answer: UIMessage): boolean {
  return isInterrupted(answer) && fieldsOf(answer.metadata).interrupted !== "aborted";
}

function nothingToAnswer(): StemmaError {
  return new StemmaError("MESSAGE_NOT_FOUND", {}, "There is no message to answer.");
}

function invalid(message: string): StemmaError {
  return new StemmaError("INVALID_MESSAGE", {}, message);
}
