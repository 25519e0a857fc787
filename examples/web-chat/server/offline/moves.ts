import type { LanguageModelV3Prompt } from "@ai-sdk/provider";
import type { Session } from "stemma";
import { isQuestion, learnedFrom, matching, unwantedIn } from "./learned";
import { HELP, TOUR } from "./texts";

/** Reads what is remembered of the user: texts by their keys. */
export type Facts = () => Promise<ReadonlyMap<string, string>>;

/** What the responder does next: say something in Markdown, or call a tool. */
export type Move = { readonly say: string } | { readonly call: string; readonly input: object };

const SEARCH = /^\s*(?:search|look)\s+(?:for\s+)?(?<what>.+?)[?.!]*$/iu;
const RECALL =
  /\b(?:remember|know|who am i|what(?:'s|’s| is| are| do| did| was)?\b.*\b(?:i|my|me)\b|where do i\b.*|when\b.*\bi\b.*)/iu;
const TOUR_WANTED = /\b(?:how|explain|tour|story|write|long|tell me|show)\b/iu;

/** Reads the end of a prompt, and the memory as it is. */
export async function nextMove(session: Session, facts: Facts, prompt: LanguageModelV3Prompt): Promise<Move> {
  const move = moveFor(await facts(), prompt);
  return "say" in move ? { say: (await openerFor(session)) + move.say } : move;
}

// An answer that is asked for again should not read like the one before.
async function openerFor(session: Session): Promise<string> {
  const question = await session.getLatestLeaf();
  if (question?.role !== "user") return "";
  const before = (await session.getBranches(question.id)).length;
  return before === 0 ? "" : (OPENERS[before % OPENERS.length] ?? "");
}

const OPENERS = ["Once more. ", "Here is another answer. ", "Let me try again. "] as const;

function moveFor(facts: ReadonlyMap<string, string>, prompt: LanguageModelV3Prompt): Move {
  const asked = prompt.findLastIndex(({ role }) => role === "user");
  const question = textOf(prompt[asked]);
  const result = resultIn(prompt.slice(asked + 1));
  const known = [...facts.values()];

  const unwanted = unwantedIn(question);
  if (unwanted !== null) return forget(unwanted, facts, result);
  const sought = SEARCH.exec(question)?.groups?.what;
  if (sought !== undefined) return search(sought, result);

  // What is told beside a question is learned too, without a word.
  const learned = isQuestion(question) ? [] : learnedFrom(question).map(({ text }) => text);
  if (learned.length > 0) return learn(learned, known);
  if (RECALL.test(question)) return recall(question, known);
  return { say: TOUR_WANTED.test(question) ? TOUR : HELP };
}

// It is noted by learning, when this answer has ended.
function learn(learned: readonly string[], known: readonly string[]): Move {
  if (learned.every((fact) => known.includes(fact))) return { say: `I know: **${learned.join("**, **")}**.` };
  const list = learned.map((fact) => `- ${fact}`).join("\n");
  return { say: `I will remember that:\n\n${list}\n\nAsk me *“what do you know about me?”* in any chat.` };
}

function forget(unwanted: string, facts: ReadonlyMap<string, string>, result: string | null): Move {
  if (result !== null)
    return { say: result.startsWith("Error") ? result : `Forgotten: what was noted about **${unwanted}**.` };
  const keys = [...facts].flatMap(([key, fact]) => (matching([fact], unwanted).length === 0 ? [] : [key]));
  if (keys.length === 0) return { say: `Nothing is noted about **${unwanted}**.` };
  return { call: "forget_facts", input: { keys } };
}

function search(sought: string, result: string | null): Move {
  if (result === null) return { call: "search_context", input: { label: "history", query: sought } };
  const hits = result
    .split(/\n\n(?=\[session )/u)
    .filter((hit) => hit.startsWith("[session ") && hit.includes("· user ·"));
  const quotes = hits.map(
    (hit) =>
      `> ${hit
        .slice(hit.indexOf("\n") + 1)
        .trim()
        .replaceAll("\n", "\n> ")}`,
  );
  const others = quotes.filter((quote) => !SEARCH.test(quote.slice(2)));
  if (others.length === 0) return { say: `No earlier message of yours says anything about **${sought}**.` };
  return { say: `You wrote:\n\n${others.slice(0, 5).join("\n\n")}` };
}

function recall(question: string, facts: readonly string[]): Move {
  if (facts.length === 0)
    return { say: "Nothing yet. Tell me something about yourself: *My name is …*, *I live in …*" };
  const found = matching(facts, question);
  const told = found.length > 0 ? found : facts;
  return { say: `Here is what I remember:\n\n${told.map((fact) => `- ${fact}`).join("\n")}` };
}

function textOf(message: LanguageModelV3Prompt[number] | undefined): string {
  // Behind the first text stands what the session tells: it is not the user's.
  if (message?.role !== "user") return "";
  return message.content.find((part) => part.type === "text")?.text ?? "";
}

function resultIn(messages: LanguageModelV3Prompt): string | null {
  const results = messages.flatMap((message) => (message.role === "tool" ? message.content : []));
  const last = results.findLast((part) => part.type === "tool-result");
  if (last === undefined) return null;
  const { output } = last;
  if (output.type === "text" || output.type === "error-text") return output.value;
  return JSON.stringify("value" in output ? output.value : output);
}
