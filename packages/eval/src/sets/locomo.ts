import { asked, type EvalConversation, type EvalSession, said, UNANSWERABLE } from "../set.js";
import { readJson } from "./read-json.js";

const MONTHS = "January February March April May June July August September October November December".split(" ");

interface LocomoFile {
  readonly conversation: Readonly<Record<string, unknown>>;
  readonly qa: readonly LocomoQuestion[];
}

interface LocomoQuestion {
  readonly question: string;
  readonly category: number;
  readonly evidence: readonly string[];
  readonly answer?: string | number;
}

interface LocomoTurn {
  readonly dia_id: string;
  readonly speaker: string;
  readonly text: string;
}

/**
 * LoCoMo: ten long conversations of two people (https://github.com/snap-research/locomo), from its one file. Category 5 asks
 * for what nobody said; another question whose evidence names no message is left out.
 */
export function readLocomo(path: string): EvalConversation[] {
  return readJson<LocomoFile[]>(path).map((file, index) => conversationOf(`c${index}`, file));
}

function conversationOf(name: string, { conversation, qa }: LocomoFile): EvalConversation {
  const sessions: EvalSession[] = [];
  for (let n = 1; conversation[`session_${n}`] !== undefined; n += 1) {
    const createdAt = dateOf(String(conversation[`session_${n}_date_time`]));
    const messages = (conversation[`session_${n}`] as LocomoTurn[]).map(({ dia_id, speaker, text }) =>
      said(dia_id, "user", text, { name: speaker, createdAt }),
    );
    sessions.push({ id: `s${n}`, messages });
  }
  const questions = qa.flatMap(({ question, category, evidence: places, answer }) => {
    if (category === 5) return [asked(sessions, { text: question, category: UNANSWERABLE, evidence: [] })];
    const evidence = places.flatMap((text) => text.match(/D\d+:\d+/g) ?? []).map((id) => id.replace(/:0+/, ":"));
    if (evidence.length === 0) return [];
    const known = answer === undefined ? undefined : String(answer);
    return [asked(sessions, { text: question, category: String(category), evidence, answer: known })];
  });
  return { name, sessions, questions };
}

// "1:56 pm on 8 May, 2023"
function dateOf(text: string): Date {
  const [, hour, minute, half, day, month, year] = /(\d+):(\d+) (am|pm) on (\d+) (\w+), (\d+)/.exec(text) ?? [];
  const hours = (Number(hour) % 12) + (half === "pm" ? 12 : 0);
  return new Date(Date.UTC(Number(year), MONTHS.indexOf(month ?? ""), Number(day), hours, Number(minute)));
}
