import { isInterrupted, StemmaError, sameJson, sha256 } from "@stemma/model";
import type { UIMessage } from "ai";
import { fieldsOf } from "../message/parts.js";
import { validMessage } from "../message/validate.js";
import type { ReadableSession, RunSession } from "../run/hold.js";
import { type GivenMessage, isQuestion, noParts, type Submission, submittedMessage } from "./submission.js";

/** The stored messages that a submission is about, as they were read. */
export type Target = Subject & {
  /** The active leaf; null without one. */
  readonly leaf: UIMessage | null;
};

type Subject =
  /** A question to be answered again, with the answer that it has. */
  | { readonly kind: "again"; readonly question: UIMessage | null; readonly answer: UIMessage | null }
  /** A stored answer and its question, with what a client knows of its calls. */
  | {
      readonly kind: "results";
      readonly question: UIMessage | null;
      readonly stored: UIMessage;
      readonly given: GivenMessage;
    }
  | GivenQuestion
  /** A stored question that has no answer. */
  | { readonly kind: "unanswered"; readonly question: UIMessage };

/** A question of a client. */
export interface GivenQuestion extends Recognised {
  readonly kind: "question";
  /** The newest of the messages before it that is stored; null without one. */
  readonly known: UIMessage | null;
}

/** Reads what a submission is about. Errors: `INVALID_MESSAGE`, `MESSAGE_NOT_FOUND`, `SESSION_OWNED`. */
export async function findTarget(session: ReadableSession, submission: Submission): Promise<Target> {
  const [subject, leaf] = await Promise.all([findSubject(session, submission), session.getLatestLeaf<UIMessage>()]);
  return { ...subject, leaf };
}

async function findSubject(session: ReadableSession, submission: Submission): Promise<Subject> {
  const { trigger, messages } = submission;
  if (trigger === "regenerate-message") {
    const { question, answer } = await questionOf(session, submission);
    if (question === null && !(answer !== null && isBroken(answer))) throw nothingToAnswer();
    return { kind: "again", question, answer };
  }
  const given = submittedMessage(submission);
  const isEdit = given.id === submission.messageId;
  if (given.role === "user") return findQuestion(session, given, messages, isEdit);
  const [stored, parent] = await withParent(session, given.id);
  if (stored?.role === "assistant") return { kind: "results", question: parent, stored, given };
  if (stored !== null) {
    throw new StemmaError("INVALID_MESSAGE", { messageId: given.id }, `Message "${given.id}" is not the assistant's.`);
  }
  // Of an answer that broke off before it said anything nothing is stored. Its question is repeated, not answered twice.
  const at = messages.findLastIndex(({ role }) => role === "user");
  const asked = messages[at];
  if (asked !== undefined && !isQuestion(asked)) throw nothingToAnswer();
  if (asked !== undefined) return findQuestion(session, asked, messages.slice(0, at + 1));
  const { question, answer } = await questionOf(session, submission);
  // Where there is an answer, what was sent is for another one, which nobody gave.
  if (question === null || answer !== null) throw nothingToAnswer();
  return { kind: "unanswered", question };
}

// A question, the last of `messages`.
async function findQuestion(
  session: ReadableSession,
  given: GivenMessage,
  messages: readonly GivenMessage[],
  isEdit = false,
): Promise<GivenQuestion> {
  const [found, known] = await Promise.all([
    recognise(session, given, isEdit),
    newestKnown(session, messages.slice(0, -1)),
  ]);
  return { kind: "question", ...found, known };
}

/** The stored question that a submission asks again; null for a new one. */
export function repeatedQuestion(target: Target): string | null {
  if (target.kind === "again") return target.question?.id ?? null;
  return target.kind === "question" && target.isStored ? target.question.id : null;
}

/** True for an answer that broke off. One that the user stopped is as the user wants it. */
export function isBroken(answer: UIMessage): boolean {
  return isInterrupted(answer) && fieldsOf(answer.metadata).interrupted !== "aborted";
}

function nothingToAnswer(): StemmaError {
  return new StemmaError("MESSAGE_NOT_FOUND", {}, "There is no message to answer.");
}

/** So many of a client's messages are looked for, from the newest on. */
const LOOKED_AT = 20;

export type FoundQuestion = Extract<Target, { readonly kind: "question" }>;

/** Stores a new question. Errors: those of an append. */
export async function placeQuestion(session: RunSession, target: FoundQuestion): Promise<void> {
  const { question, replaced } = target;
  if (replaced === null) await session.appendMessage(question, await parentFor(session, target));
  else await session.editMessage(replaced, question);
}

/**
 * Stores a new question for which nothing but it is to be written, if all is as it was when it was looked for. False otherwise, and
 * where somebody wrote since. Errors: those of an append.
 */
export async function placeAsFound(session: RunSession, target: FoundQuestion): Promise<boolean> {
  const { question, isStored, replaced, known, leaf } = target;
  if (isStored || replaced !== null || (known !== null && known.id !== leaf?.id)) return false;
  try {
    await session.appendNew(question, leaf?.id ?? null);
    return true;
  } catch (error) {
    if (!StemmaError.isInstance(error) || !MOVED.has(error.code)) throw error;
    return false;
  }
}

const MOVED: ReadonlySet<string> = new Set(["MESSAGE_EXISTS", "LEAF_MOVED"]);

/** The question, and the answer to it, that a client wants again. */
async function questionOf(
  session: ReadableSession,
  { messageId, messages }: Submission,
): Promise<{ question: UIMessage | null; answer: UIMessage | null }> {
  const [named, parent] = messageId === undefined ? [null, null] : await withParent(session, messageId);
  const target = named ?? (await newestKnown(session, messages)) ?? (await session.getLatestLeaf<UIMessage>());
  if (target === null) return { question: null, answer: null };
  if (target.role === "user") return { question: target, answer: await newestAnswer(session, target.id) };
  let question = named === null ? await session.getParent<UIMessage>(target.id) : parent;
  while (question !== null && question.role !== "user") question = await session.getParent<UIMessage>(question.id);
  return { question, answer: target };
}

// A message that may be there, with the one above it.
function withParent(session: ReadableSession, messageId: string): Promise<[UIMessage | null, UIMessage | null]> {
  const parent = session.getParent<UIMessage>(messageId).catch((error: unknown) => {
    if (StemmaError.isInstance(error, "MESSAGE_NOT_FOUND")) return null;
    throw error;
  });
  return Promise.all([session.getMessage<UIMessage>(messageId), parent]);
}

/** The newest answer to a question; null where there is none. */
export async function newestAnswer(session: ReadableSession, questionId: string): Promise<UIMessage | null> {
  for (const id of (await session.getBranchIds(questionId)).reverse()) {
    const message = await session.getMessage<UIMessage>(id);
    if (message?.role === "assistant") return message;
  }
  return null;
}

/** A client's question, and its place in the tree. */
interface Recognised {
  /** As it is stored, or is to be. */
  readonly question: UIMessage;
  readonly isStored: boolean;
  /** The message that it is an edit of, and beside which it comes; null for any other. */
  readonly replaced: string | null;
  /** The id that the client gave it and the one that it has, where they differ. */
  readonly edited: { readonly given: string; readonly stored: string } | null;
}

// An edit has an id that its content gives it, so that one that comes twice is stored once.
async function recognise(session: ReadableSession, given: GivenMessage, isEdit: boolean): Promise<Recognised> {
  const valid = validMessage(given);
  if (valid === null) throw noParts(given.id);
  const id = `edit-${sha256(JSON.stringify([given.id, valid.parts])).slice(0, 32)}`;
  const asked = isEdit ? session.getMessage<UIMessage>(id) : null;
  const [stored, edit] = await Promise.all([session.getMessage<UIMessage>(given.id), asked]);
  if (stored === null) return { question: valid, replaced: null, isStored: false, edited: null };
  if (stored.role !== "user") {
    throw new StemmaError("INVALID_MESSAGE", { messageId: given.id }, `Message "${given.id}" is not the user's.`);
  }
  if (sameJson(stored.parts, valid.parts)) return { question: stored, replaced: null, isStored: true, edited: null };
  const before = asked === null ? await session.getMessage<UIMessage>(id) : edit;
  // A client that was told when the message was stored sends that back.
  const { createdAt: _createdAt, ...changed } = valid as UIMessage & { createdAt?: unknown };
  const edited = { given: given.id, stored: id };
  return { question: before ?? { ...changed, id }, replaced: given.id, isStored: before !== null, edited };
}

/**
 * Finds the message that a new one is attached to. The client's own history says on which branch it is: `known` is the newest of
 * its messages. Where that branch goes on in the tree, the message comes behind it. Undefined is the active leaf.
 */
async function parentFor(session: RunSession, { known, leaf }: FoundQuestion): Promise<string | undefined> {
  if (known === null || known.id === leaf?.id) return undefined;
  for await (const { id } of session.history({ newestFirst: true, summaries: false, onCorrupt: "skip" })) {
    if (id === known.id) return undefined;
  }
  return session.selectBranch(known.id);
}

// The newest is there nearly always. Asking for the others one by one could be many round trips.
async function newestKnown(session: ReadableSession, messages: readonly GivenMessage[]): Promise<UIMessage | null> {
  const [newest, ...others] = messages.slice(-LOOKED_AT).reverse();
  if (newest === undefined) return null;
  const known = await session.getMessage<UIMessage>(newest.id);
  if (known !== null) return known;
  const found = await Promise.all(others.map(({ id }) => session.getMessage<UIMessage>(id)));
  return found.find((message) => message !== null) ?? null;
}
