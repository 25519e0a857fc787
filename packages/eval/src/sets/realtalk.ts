import { join } from "node:path";
import { asked, type EvalConversation, type EvalSession, said } from "../set.js";
import { namesIn, readJson } from "./read-json.js";

interface RealtalkTurn {
  readonly clean_text: string;
  readonly speaker: string;
  readonly date_time: string;
  readonly dia_id: string;
}

interface RealtalkQuestion {
  readonly question: string;
  readonly category: number;
  readonly evidence: readonly string[];
  readonly answer?: string;
}

/** REALTALK: ten chats of real people over weeks (https://github.com/danny911kr/REALTALK), from its folder `data`. */
export function readRealtalk(folder: string): EvalConversation[] {
  const names = namesIn(folder, /^Chat_\d+.*\.json$/, "no Chat_….json");
  return names.map((name) => conversationOf(name, join(folder, name)));
}

function conversationOf(name: string, path: string): EvalConversation {
  const file = readJson<Readonly<Record<string, unknown>>>(path);
  const sessions: EvalSession[] = [];
  for (let n = 1; file[`session_${n}`] !== undefined; n += 1) {
    const messages = (file[`session_${n}`] as RealtalkTurn[]).map(({ clean_text, speaker, date_time, dia_id }) =>
      said(dia_id, "user", clean_text, { name: speaker, createdAt: dateOf(date_time) }),
    );
    sessions.push({ id: `s${n}`, messages });
  }
  const known = new Set(sessions.flatMap(({ messages }) => messages.map(({ id }) => id)));
  const questions = (file.qa as RealtalkQuestion[]).flatMap(({ question, category, evidence: places, answer }) => {
    const evidence = places.flatMap((text) => text.match(/D\d+:\d+/g) ?? []).filter((id) => known.has(id));
    if (evidence.length === 0) return [];
    return [asked(sessions, { text: question, category: String(category), evidence, answer })];
  });
  return { name, sessions, questions };
}

// "29.12.2023, 22:42:04"
function dateOf(text: string): Date | undefined {
  const found = /(\d+)\.(\d+)\.(\d+), (\d+):(\d+):(\d+)/.exec(text)?.slice(1).map(Number);
  if (found === undefined) return undefined;
  const [day = 1, month = 1, year = 0, ...time] = found;
  return new Date(Date.UTC(year, month - 1, day, ...time));
}
