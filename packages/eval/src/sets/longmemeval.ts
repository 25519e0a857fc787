import { type EvalConversation, type EvalQuestion, said, UNANSWERABLE } from "../set.js";
import { readLines } from "./read-json.js";

interface LongmemevalItem {
  readonly question_id: string;
  readonly question_type: string;
  readonly question: string;
  readonly answer: string | number;
  readonly question_date: string;
  readonly haystack_dates: readonly string[];
  readonly haystack_session_ids: readonly string[];
  readonly haystack_sessions: readonly (readonly LongmemevalTurn[])[];
  readonly answer_session_ids: readonly string[];
}

interface LongmemevalTurn {
  readonly role: "user" | "assistant";
  readonly content: string;
  readonly has_answer?: boolean;
}

/**
 * LongMemEval: questions to an assistant, each with sessions of its own (https://github.com/xiaowu0162/LongMemEval), from one of
 * its files: S, M or oracle. An id that ends with `_abs` asks for what nobody said. Where no message is marked, the sessions alone
 * are the evidence.
 */
export async function* readLongmemeval(path: string): AsyncGenerator<EvalConversation> {
  for await (const { value } of readLines<LongmemevalItem>(path)) yield conversationOf(value);
}

function conversationOf(item: LongmemevalItem): EvalConversation {
  const { haystack_session_ids: ids, haystack_sessions: turns, haystack_dates: dates } = item;
  const evidence: string[] = [];
  const sessions = turns.map((list, index) => {
    const createdAt = dateOf(dates[index]);
    const messages = list.map(({ role, content, has_answer }, place) => {
      const id = `${index}:${place}`;
      if (has_answer) evidence.push(id);
      return said(id, role, content, { createdAt });
    });
    return { id: ids[index] as string, messages };
  });
  return { name: item.question_id, sessions, questions: [questionOf(item, evidence)] };
}

function questionOf(item: LongmemevalItem, evidence: readonly string[]): EvalQuestion {
  const { question: text, question_type: category, answer, question_date, answer_session_ids: sessions } = item;
  const asking = { text, answer: String(answer), askedAt: dateOf(question_date) };
  if (item.question_id.endsWith("_abs")) return { ...asking, category: UNANSWERABLE, evidence: [], sessions: [] };
  return { ...asking, category, evidence, sessions };
}

// "2023/05/20 (Sat) 02:21"
function dateOf(text: string | undefined): Date | undefined {
  const found = /(\d+)\/(\d+)\/(\d+)\D+(\d+):(\d+)/
    .exec(text ?? "")
    ?.slice(1)
    .map(Number);
  if (found === undefined) return undefined;
  const [year = 0, month = 1, ...rest] = found;
  return new Date(Date.UTC(year, month - 1, ...rest));
}
