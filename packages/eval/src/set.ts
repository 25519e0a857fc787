import type { SessionMessage } from "@stemma/model";
import type { Store } from "@stemma/store";

/** Conversations with questions, and the messages that answer them. */
export interface EvalSet {
  readonly name: string;
  /** Read one at a time: a set may be larger than the memory. */
  readonly conversations: Many<EvalConversation>;
  /** The store that holds the conversations already, to which nothing is written. Default: a new one is filled with them. */
  readonly store?: Store | undefined;
}

export type Many<T> = Iterable<T> | AsyncIterable<T>;

/** Sessions that are searched together, and what is asked of them. */
export interface EvalConversation {
  readonly name: string;
  readonly sessions: Many<EvalSession>;
  readonly questions: readonly EvalQuestion[];
}

export interface EvalSession {
  readonly id: string;
  readonly messages: readonly SessionMessage[];
}

export interface EvalQuestion {
  readonly text: string;
  /** The name of its kind in the set. */
  readonly category: string;
  /** The ids of the messages that hold the answer; none where only sessions are known. */
  readonly evidence: readonly string[];
  /** The ids of the sessions that hold the answer. Without these and without evidence the question has no answer. */
  readonly sessions: readonly string[];
  /** A correct answer, where the set tells one. */
  readonly answer?: string | undefined;
  readonly askedAt?: Date | undefined;
}

/** False where the conversation does not hold what the question asks for. */
export function isAnswerable({ evidence, sessions }: EvalQuestion): boolean {
  return evidence.length > 0 || sessions.length > 0;
}

/** A message of a set. `name` is who says it, where that is more than a role. */
export function said(
  id: string,
  role: "user" | "assistant",
  text: string,
  { name, createdAt }: { readonly name?: string; readonly createdAt?: Date | undefined } = {},
): SessionMessage {
  return {
    id,
    role,
    parts: [{ type: "text", text }],
    ...(name === undefined ? {} : { metadata: { name } }),
    ...(createdAt === undefined ? {} : { createdAt }),
  };
}

/** A question whose evidence is known by message: its sessions are those that have one. */
export function asked(
  sessions: readonly EvalSession[],
  question: Pick<EvalQuestion, "text" | "category" | "evidence" | "answer">,
): EvalQuestion {
  const ids = new Set(question.evidence);
  const holding = sessions.filter(({ messages }) => messages.some(({ id }) => ids.has(id)));
  return { ...question, evidence: [...ids], sessions: holding.map(({ id }) => id) };
}

/** The category of questions that ask for what the conversation does not hold. */
export const UNANSWERABLE = "unanswerable";

export interface PartOptions {
  /** How many conversations at most. Default: all. */
  limitConversations?: number | undefined;
  /** Every other conversation: `dev` begins with the first, `test` with the second. Default: all. */
  half?: "dev" | "test" | undefined;
}

/** The conversations of a set, or a part of them. */
export async function* conversationsOf(
  { conversations }: EvalSet,
  { limitConversations = Number.POSITIVE_INFINITY, half }: PartOptions,
): AsyncGenerator<EvalConversation> {
  let index = 0;
  let taken = 0;
  for await (const conversation of conversations) {
    const isIn = half === undefined || index % 2 === (half === "dev" ? 0 : 1);
    index += 1;
    if (!isIn) continue;
    yield conversation;
    taken += 1;
    if (taken >= limitConversations) return;
  }
}
