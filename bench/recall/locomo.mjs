// LoCoMo: ten long conversations of two people and questions with the turns that hold the answer. The data stays outside.
import { readFileSync } from "node:fs";

const MONTHS = "January February March April May June July August September October November December".split(" ");

/** "1:56 pm on 8 May, 2023" */
function parseDate(text) {
  const [, hour, minute, half, day, month, year] = /(\d+):(\d+) (am|pm) on (\d+) (\w+), (\d+)/.exec(text);
  return new Date(
    Date.UTC(
      Number(year),
      MONTHS.indexOf(month),
      Number(day),
      (Number(hour) % 12) + (half === "pm" ? 12 : 0),
      Number(minute),
    ),
  );
}

/** The conversations and questions of the file. Questions without a usable evidence id, and category 5, are left out. */
export function readLocomo(path) {
  return JSON.parse(readFileSync(path, "utf8")).map(({ conversation, qa }, index) => ({
    name: `c${index}`,
    sessions: sessionsOf(conversation),
    questions: qa
      .filter(({ category }) => category !== 5)
      .flatMap((question) => {
        const evidence = new Set(
          question.evidence.flatMap((text) => text.match(/D\d+:\d+/g) ?? []).map((id) => id.replace(/:0+/, ":")),
        );
        return evidence.size === 0
          ? []
          : [{ text: question.question, category: question.category, evidence: [...evidence] }];
      }),
  }));
}

function sessionsOf(conversation) {
  const sessions = [];
  for (let n = 1; conversation[`session_${n}`] !== undefined; n += 1) {
    const createdAt = parseDate(conversation[`session_${n}_date_time`]);
    const messages = conversation[`session_${n}`].map(({ dia_id, speaker, text }) => ({
      id: dia_id,
      role: "user",
      parts: [{ type: "text", text }],
      metadata: { name: speaker },
      createdAt,
    }));
    sessions.push({ id: `s${n}`, messages });
  }
  return sessions;
}
