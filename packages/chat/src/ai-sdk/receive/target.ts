import { isInterrupted, StemmaError } from "@stemma/model";
import type { UIMessage } from "ai";
import { fieldsOf } from "../message/parts.js";
import type { ReadableSession } from "../run/hold.js";
import { questionOf, storedQuestion } from "./question.js";
import { type GivenMessage, isQuestion, type Submission, submittedMessage } from "./submission.js";

/** The stored messages that a submission is about. */
export type Target =
  /** A question to be answered again, with the answer that it has. */
  | { readonly kind: "again"; readonly question: UIMessage | null; readonly answer: UIMessage | null }
  /** A stored answer, with what a client knows of its calls. */
  | { readonly kind: "results"; readonly stored: UIMessage; readonly given: GivenMessage }
  /** A question, the last of `messages`. */
  | { readonly kind: "question"; readonly given: GivenMessage; readonly messages: readonly GivenMessage[] }
  /** A stored question that has no answer. */
  | { readonly kind: "unanswered"; readonly question: UIMessage };

/** Reads what a submission is about. Errors: `INVALID_MESSAGE`, `MESSAGE_NOT_FOUND`, `SESSION_OWNED`. */
export async function findTarget(session: ReadableSession, submission: Submission): Promise<Target> {
  const { trigger, messages } = submission;
  if (trigger === "regenerate-message") {
    const { question, answer } = await questionOf(session, submission);
    if (question === null && !(answer !== null && isBroken(answer))) throw nothingToAnswer();
    return { kind: "again", question, answer };
  }
  const given = submittedMessage(submission);
  if (given.role === "user") return { kind: "question", given, messages };
  const stored = await session.getMessage<UIMessage>(given.id);
  if (stored?.role === "assistant") return { kind: "results", stored, given };
  if (stored !== null) {
    throw new StemmaError("INVALID_MESSAGE", { messageId: given.id }, `Message "${given.id}" is not the assistant's.`);
  }
  // Of an answer that broke off before it said anything nothing is stored. Its question is repeated, not answered twice.
  const at = messages.findLastIndex(({ role }) => role === "user");
  const asked = messages[at];
  if (asked !== undefined && !isQuestion(asked)) throw nothingToAnswer();
  if (asked !== undefined) return { kind: "question", given: asked, messages: messages.slice(0, at + 1) };
  const { question, answer } = await questionOf(session, submission);
  // Where there is an answer, what was sent is for another one, which nobody gave.
  if (question === null || answer !== null) throw nothingToAnswer();
  return { kind: "unanswered", question };
}

/**
 * The stored question that a submission asks again; null for a new one. It writes nothing, and refuses what could not be placed.
 * Errors: `INVALID_MESSAGE`, `MESSAGE_NOT_FOUND`, `SESSION_OWNED`.
 */
export async function repeatedQuestion(session: ReadableSession, submission: Submission): Promise<string | null> {
  const target = await findTarget(session, submission);
  if (target.kind === "again") return target.question?.id ?? null;
  return target.kind === "question" ? storedQuestion(session, target.given) : null;
}

/** True for an answer that broke off. One that the user stopped is as the user wants it. */
export function isBroken(answer: UIMessage): boolean {
  return isInterrupted(answer) && fieldsOf(answer.metadata).interrupted !== "aborted";
}

function nothingToAnswer(): StemmaError {
  return new StemmaError("MESSAGE_NOT_FOUND", {}, "There is no message to answer.");
}
