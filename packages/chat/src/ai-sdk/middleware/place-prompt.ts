import { answeredNow, isToolPart, type SessionMessage, type SessionMessagePart, StemmaError } from "@stemma/model";
import { coreOf, type Session } from "@stemma/session";
import type { KeptWrite } from "@stemma/store";
import type { UIMessage } from "ai";
import { fieldsOf, unmarked } from "../message/parts.js";
import { answerParts, type PromptResult, questionOf, resultsOf, withResults } from "./prompt-parts.js";
import type { Part, Prompt, PromptMessage } from "./sdk-types.js";

/** A prompt, by what is done with its messages. */
export interface SplitPrompt {
  readonly system: Prompt;
  /** All that comes before the last messages of the user. */
  readonly earlier: Prompt;
  /** The messages of the user that are to be answered. */
  readonly questions: Prompt;
  /** The steps that answered them so far. */
  readonly tail: Prompt;
}

export function splitPrompt(prompt: Prompt): SplitPrompt {
  const end = prompt.findLastIndex(({ role }) => role === "user") + 1;
  const start = prompt.slice(0, end).findLastIndex(({ role }) => role !== "user" && role !== "system") + 1;
  const isSaid = ({ role }: PromptMessage) => role !== "system";
  return {
    // Without a user's message all is behind it.
    system: prompt.filter(({ role }, index) => role === "system" && (index < end || index < start || end === 0)),
    earlier: prompt.slice(0, start).filter(isSaid),
    questions: prompt.slice(start, end).filter(isSaid),
    tail: prompt.slice(end).filter((message) => end > 0 || isSaid(message)),
  };
}

/** The place of an answer in the session. */
export interface PlacedTurn {
  /** The message that it answers; null where the prompt has none. */
  readonly questionId: string | null;
  /** The answer as it is known: its finished steps, with the results of their calls. */
  readonly answer: UIMessage;
}

/** So many of the newest messages are looked at. */
const LOOKED_AT = 20;

/**
 * Stores what is new in a prompt: the user's messages that are not answered yet, and results of stored calls that wait for them.
 * Into a session without messages goes the whole prompt. Errors: those of an append.
 */
export async function placePrompt(session: Session, split: SplitPrompt, write: Write): Promise<PlacedTurn> {
  for (let moved: string | null | undefined; ; ) {
    const recent = await recentOf(session);
    const leaf = recent[0]?.id ?? null;
    try {
      // A leaf that cannot be read is another one than the newest that can.
      return await placeBehind(session, split, write, { recent, expectedLeaf: leaf === moved ? undefined : leaf });
    } catch (error) {
      if (!StemmaError.isInstance(error, "LEAF_MOVED")) throw error;
      // Another process wrote meanwhile, perhaps the same message.
      moved = leaf;
    }
  }
}

type Write = (writes: readonly KeptWrite[]) => Promise<unknown>;

interface Behind {
  /** The newest messages, the latest first. */
  readonly recent: UIMessage[];
  readonly expectedLeaf: string | null | undefined;
}

async function placeBehind(
  session: Session,
  { earlier, questions, tail }: SplitPrompt,
  write: Write,
  { recent, expectedLeaf }: Behind,
): Promise<PlacedTurn> {
  const results = resultsOf([...earlier, ...tail]);
  const asked = questions
    .map((message) => asStored(session, questionOf(message)))
    .filter(({ parts }) => parts.length > 0);
  const answer = answeredIn(recent, results);
  if (answer.writes.length > 0) await write(answer.writes.map((update) => ({ session: session.id, update })));
  const known = tail.length === 0 ? null : stepsOf(answer.messages, asked.at(-1), answerParts(tail));
  if (known !== null) return known;
  const { isStored, activate } = overlapOf(recent, asked);
  if (activate !== null) await write([{ session: session.id, activeLeaf: activate, expectedLeaf }]);
  const before = recent.length === 0 ? turnsOf(earlier) : [];
  const append = [...before, ...asked.slice(isStored)] as SessionMessage[];
  if (append.length > 0) await write([{ session: session.id, append, expectedLeaf }]);
  const questionId = append.at(-1)?.id ?? activate ?? (asked.length > 0 ? (recent[0]?.id ?? null) : null);
  return { questionId, answer: { id: crypto.randomUUID(), role: "assistant", parts: answerParts(tail) } };
}

async function recentOf(session: Session): Promise<UIMessage[]> {
  const recent: UIMessage[] = [];
  for await (const message of session.history<UIMessage>({ newestFirst: true, summaries: false, onCorrupt: "skip" })) {
    recent.push(message);
    if (recent.length === LOOKED_AT) break;
  }
  return recent;
}

// A store may redact what it is given: what comes again is compared with what it kept.
function asStored(session: Session, message: UIMessage): UIMessage {
  return coreOf(session).store?.redaction?.message(message, session.id) ?? message;
}

function answeredIn(recent: readonly UIMessage[], results: ReadonlyMap<string, PromptResult>) {
  const writes: SessionMessage[] = [];
  const messages = recent.map((message) => {
    if (message.role !== "assistant") return message;
    const parts = withResults(message.parts, results);
    if (parts === message.parts) return message;
    const answered = unmarked(answeredNow(message, { ...message, parts }));
    writes.push(answered as SessionMessage);
    return answered;
  });
  return { messages, writes };
}

/** The stored answer that the steps of a prompt belong to; null where there is none. `recent` begins with the newest. */
function stepsOf(
  recent: readonly UIMessage[],
  question: UIMessage | undefined,
  steps: readonly Part[],
): PlacedTurn | null {
  for (const [index, answer] of recent.entries()) {
    const before = recent[index + 1];
    if (answer.role !== "assistant" || !holds(answer, steps)) continue;
    if (question !== undefined && (before === undefined || !saysTheSame(before, question))) continue;
    return { questionId: before?.id ?? null, answer: unmarked(answer) };
  }
  return null;
}

function holds(answer: UIMessage, steps: readonly Part[]): boolean {
  const idsOf = (parts: readonly Part[]) =>
    parts.flatMap((part) =>
      isToolPart(part as SessionMessagePart) ? [(part as { toolCallId: string }).toolCallId] : [],
    );
  const ids = idsOf(steps);
  if (ids.length === 0) return textOf(answer.parts) === textOf(steps);
  const known = new Set(idsOf(answer.parts));
  return ids.every((id) => known.has(id));
}

const textOf = (parts: readonly Part[]) => parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** How many of the user's messages are stored at the end of the session, and the leaf that is to be made active for them. */
function overlapOf(recent: readonly UIMessage[], asked: readonly UIMessage[]) {
  const firstOther = recent.findIndex(({ role }) => role !== "user");
  const waiting = (firstOther < 0 ? [...recent] : recent.slice(0, firstOther)).reverse();
  for (let count = Math.min(waiting.length, asked.length); count > 0; count -= 1) {
    const end = waiting.slice(-count);
    if (end.every((message, index) => saysTheSame(message, asked[index] as UIMessage)))
      return { isStored: count, activate: null };
  }
  // An answer that failed is asked for again; one that the user stopped is as the user wants it.
  const [leaf, question] = recent;
  const last = asked.at(-1);
  const hasFailed = leaf?.role === "assistant" && fieldsOf(leaf.metadata).interrupted === "error";
  const isAgain = hasFailed && question?.role === "user" && last !== undefined && saysTheSame(question, last);
  return isAgain ? { isStored: asked.length, activate: question.id } : { isStored: 0, activate: null };
}

function saysTheSame(stored: UIMessage, given: UIMessage): boolean {
  return stored.role === given.role && essenceOf(stored) === essenceOf(given);
}

// What other programs keep beside it differs.
function essenceOf({ parts }: UIMessage): string {
  const said = parts.flatMap((part): unknown[] => {
    if (part.type === "text") return [part.text];
    return part.type === "file" ? [[part.mediaType, part.url]] : [];
  });
  return JSON.stringify(said);
}

/** The messages of a prompt as they are stored: the steps behind a user's message are one answer. */
function turnsOf(prompt: Prompt): UIMessage[] {
  const made: UIMessage[] = [];
  let steps: PromptMessage[] = [];
  const end = (): void => {
    if (steps.length > 0) made.push({ id: crypto.randomUUID(), role: "assistant", parts: answerParts(steps) });
    steps = [];
  };
  for (const message of prompt) {
    if (message.role !== "user") {
      steps.push(message);
      continue;
    }
    end();
    made.push(questionOf(message));
  }
  end();
  return made.filter(({ parts }) => parts.length > 0);
}
