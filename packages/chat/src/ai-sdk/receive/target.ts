import { isInterrupted, StemmaError, sameJson, sha256 } from "@stemma/model";
import type { UIMessage } from "ai";
import { fieldsOf } from "../message/parts.js";
import { validMessage } from "../message/validate.js";
import type { ReadableSession, RunSession } from "../run/hold.js";
import { type GivenMessage, isQuestion, noParts, type Submission, submittedMessage } from "./submission.js";

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

export interface PlacedQuestion {
  readonly question: UIMessage;
  readonly isNew: boolean;
  /** The id that the client gave it and the one that it has, where they differ. */
  readonly edited: { readonly given: string; readonly stored: string } | null;
}

/** So many of a client's messages are looked for, from the newest on. */
const LOOKED_AT = 20;

/** Stores a user's message unless it is stored. Errors: `INVALID_MESSAGE`, and those of an append. */
export async function placeQuestion(
  session: RunSession,
  given: GivenMessage,
  messages: readonly GivenMessage[],
): Promise<PlacedQuestion> {
  const { question, replaced, isStored } = await recognise(session, given);
  const edited = question.id === given.id ? null : { given: given.id, stored: question.id };
  if (isStored) return { question, isNew: false, edited };
  if (replaced === null) await session.appendMessage(question, await parentFor(session, messages));
  else await session.editMessage(replaced, question);
  return { question, isNew: true, edited };
}

/** The stored question that a client's message repeats; null for a new one. Errors: `INVALID_MESSAGE`. */
async function storedQuestion(session: ReadableSession, given: GivenMessage): Promise<string | null> {
  const { question, isStored } = await recognise(session, given);
  return isStored ? question.id : null;
}

/** The question, and the answer to it, that a client wants again. */
async function questionOf(
  session: ReadableSession,
  { messageId, messages }: Submission,
): Promise<{ question: UIMessage | null; answer: UIMessage | null }> {
  const named = messageId === undefined ? null : await session.getMessage<UIMessage>(messageId);
  const target = named ?? (await newestKnown(session, messages)) ?? (await session.getLatestLeaf<UIMessage>());
  if (target === null) return { question: null, answer: null };
  if (target.role === "user") return { question: target, answer: await newestAnswer(session, target.id) };
  let question = await session.getParent<UIMessage>(target.id);
  while (question !== null && question.role !== "user") question = await session.getParent<UIMessage>(question.id);
  return { question, answer: target };
}

/** The newest answer to a question; null where there is none. */
export async function newestAnswer(session: ReadableSession, questionId: string): Promise<UIMessage | null> {
  for (const id of (await session.getBranchIds(questionId)).reverse()) {
    const message = await session.getMessage<UIMessage>(id);
    if (message?.role === "assistant") return message;
  }
  return null;
}

// An edit has an id that its content gives it, so that one that comes twice is stored once.
async function recognise(
  session: ReadableSession,
  given: GivenMessage,
): Promise<{ question: UIMessage; replaced: string | null; isStored: boolean }> {
  const valid = validMessage(given);
  if (valid === null) throw noParts(given.id);
  const stored = await session.getMessage<UIMessage>(given.id);
  if (stored === null) return { question: valid, replaced: null, isStored: false };
  if (stored.role !== "user") {
    throw new StemmaError("INVALID_MESSAGE", { messageId: given.id }, `Message "${given.id}" is not the user's.`);
  }
  if (sameJson(stored.parts, valid.parts)) return { question: stored, replaced: null, isStored: true };
  const id = `edit-${sha256(JSON.stringify([given.id, valid.parts])).slice(0, 32)}`;
  const before = await session.getMessage<UIMessage>(id);
  // A client that was told when the message was stored sends that back.
  const { createdAt: _createdAt, ...edit } = valid as UIMessage & { createdAt?: unknown };
  return { question: before ?? { ...edit, id }, replaced: given.id, isStored: before !== null };
}

/**
 * Finds the message that a new one is attached to. The client's own history says on which branch it is; where that branch goes
 * on in the tree, the message comes behind it. Undefined is the active leaf.
 */
async function parentFor(session: RunSession, messages: readonly GivenMessage[]): Promise<string | undefined> {
  const [known, leaf] = await Promise.all([newestKnown(session, messages.slice(0, -1)), session.getLatestLeaf()]);
  if (known === null || known.id === leaf?.id) return undefined;
  for await (const { id } of session.history({ newestFirst: true, summaries: false, onCorrupt: "skip" })) {
    if (id === known.id) return undefined;
  }
  return session.selectBranch(known.id);
}

async function newestKnown(session: ReadableSession, messages: readonly GivenMessage[]): Promise<UIMessage | null> {
  for (const { id } of messages.slice(-LOOKED_AT).reverse()) {
    const known = await session.getMessage<UIMessage>(id);
    if (known !== null) return known;
  }
  return null;
}
