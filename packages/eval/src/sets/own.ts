import { invalid, isJsonObject } from "@stemma/model";
import { allSessions, type Store } from "@stemma/store";
import type { EvalConversation, EvalQuestion, EvalSession, EvalSet } from "../set.js";
import { assertThere, readLines } from "./read-json.js";

interface OwnQuestion {
  readonly question: string;
  readonly ids?: readonly string[];
  readonly session?: string;
  readonly category?: string;
  readonly answer?: string;
}

/**
 * Your own questions, asked of a store that you have: JSONL with `question`, and `ids` (of the messages that hold the answer) or
 * `session` (the id of the session that does); also `category` and `answer`. An empty list of ids is a question without an answer.
 * Errors: `INVALID_ARGUMENT` for a path that is not there, a line that is none, and for a message or session that the store does not hold.
 */
export async function readOwnQuestions(path: string, store: Store): Promise<EvalSet> {
  assertThere(path);
  const places = await placesOf(store);
  const questions: EvalQuestion[] = [];
  for await (const { value, line } of readLines<unknown>(path)) {
    const refuse = (why: string) => invalid(`Line ${line} of "${path}" ${why}`, { path, line });
    questions.push(questionOf(value, places, refuse));
  }
  return { name: "own questions", conversations: [{ name: "store", sessions: sessionsOf(store), questions }], store };
}

/** The sessions that hold a message of each id. */
interface Places {
  readonly sessions: ReadonlySet<string>;
  readonly byMessage: ReadonlyMap<string, readonly string[]>;
}

function questionOf(value: unknown, places: Places, refuse: (why: string) => Error): EvalQuestion {
  if (!isOwnQuestion(value)) {
    throw refuse('is no question: write { "question": "…", "ids": ["…"] } or { "question": "…", "session": "…" }.');
  }
  const { question: text, ids = [], session, category = "all", answer } = value;
  if (session !== undefined && !places.sessions.has(session))
    throw refuse(`names the session "${session}", which the store does not hold.`);
  const sessions = new Set(session === undefined ? [] : [session]);
  for (const id of ids) {
    const holding = (places.byMessage.get(id) ?? []).filter((each) => session === undefined || each === session);
    if (holding.length === 0) throw refuse(`names the message "${id}", which the store does not hold.`);
    if (holding.length > 1)
      throw refuse(`names the message "${id}", which is in ${holding.length} sessions: name the session too.`);
    sessions.add(holding[0] as string);
  }
  return { text, category, evidence: [...new Set(ids)], sessions: [...sessions], answer };
}

function isOwnQuestion(value: unknown): value is OwnQuestion {
  if (!isJsonObject(value)) return false;
  const { question, ids, session, category, answer } = value;
  const isText = (text: unknown) => text === undefined || typeof text === "string";
  const areIds = Array.isArray(ids) && ids.every((id) => typeof id === "string");
  if (typeof question !== "string" || question.trim() === "") return false;
  if (![session, category, answer].every(isText)) return false;
  return areIds || (ids === undefined && session !== undefined);
}

async function placesOf(store: Store): Promise<Places> {
  const byMessage = new Map<string, string[]>();
  const sessions = new Set<string>();
  for await (const { id: sessionId } of allSessions(store)) {
    sessions.add(sessionId);
    for (const { id } of await store.session(sessionId).tree()) {
      byMessage.set(id, [...(byMessage.get(id) ?? []), sessionId]);
    }
  }
  return { sessions, byMessage };
}

function sessionsOf(store: Store): EvalConversation["sessions"] {
  return {
    async *[Symbol.asyncIterator](): AsyncGenerator<EvalSession> {
      for await (const { id } of allSessions(store)) {
        const messages = [];
        for await (const { message, createdAt } of store.session(id).messages())
          messages.push({ ...message, createdAt });
        yield { id, messages };
      }
    },
  };
}
