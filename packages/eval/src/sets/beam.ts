import { join } from "node:path";
import { asked, type EvalConversation, said, UNANSWERABLE } from "../set.js";
import { namesIn, readJson } from "./read-json.js";

interface BeamBatch {
  readonly turns: readonly (readonly BeamTurn[])[];
}

interface BeamTurn {
  readonly id: number;
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** A question; the correct answer has another name in each category. */
interface BeamQuestion {
  readonly question: string;
  readonly source_chat_ids?: unknown;
  readonly answer?: string;
  readonly ideal_answer?: string;
  readonly ideal_summary?: string;
  readonly expected_compliance?: string;
}

/**
 * BEAM: a person's long work with an assistant (https://github.com/mohammadtavakoli78/BEAM), from one of its folders of chats, such
 * as `chats/100K`. A batch is a session. `abstention` asks for what nobody said; other questions without evidence are left out.
 */
export function* readBeam(folder: string): Generator<EvalConversation> {
  const names = namesIn(folder, /^\d+$/, "no numbered folders of chats");
  for (const name of names.sort((a, b) => Number(a) - Number(b))) yield conversationOf(name, join(folder, name));
}

function conversationOf(name: string, folder: string): EvalConversation {
  const sessions = readJson<BeamBatch[]>(join(folder, "chat.json")).map(({ turns }, index) => {
    const messages = turns.flat().map(({ id, role, content }) =>
      // What the generator notes at the end of a message was not said.
      said(String(id), role, content.replace(/\s*->->[\s\S]*$/, "")),
    );
    return { id: `s${index}`, messages };
  });
  const path = join(folder, "probing_questions", "probing_questions.json");
  const questions = Object.entries(readJson<Record<string, BeamQuestion[]>>(path)).flatMap(([category, asking]) =>
    asking.flatMap((asks) => {
      const { question: text, source_chat_ids: ids, answer, ideal_answer, ideal_summary, expected_compliance } = asks;
      if (category === "abstention") return [asked(sessions, { text, category: UNANSWERABLE, evidence: [] })];
      const evidence = numbersIn(ids).map(String);
      const known = answer ?? ideal_answer ?? ideal_summary ?? expected_compliance;
      return evidence.length === 0 ? [] : [asked(sessions, { text, category, evidence, answer: known })];
    }),
  );
  return { name, sessions, questions };
}

// Lists of ids, by names or in lists.
function numbersIn(value: unknown): number[] {
  if (typeof value === "number") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(numbersIn) : [];
}
