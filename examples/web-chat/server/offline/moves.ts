import type { LanguageModelV3Prompt } from "@ai-sdk/provider";
import type { Session } from "stemma";
import { factsIn } from "../../shared/facts";
import { isQuestion, learnedFrom, matching, unwantedIn } from "./learned";
import { HELP, TOUR } from "./texts";

/** What the responder does next: say something in Markdown, or call a tool. */
export type Move = { readonly say: string } | { readonly call: string; readonly input: object };

const SEARCH = /^\s*(?:search|look)\s+(?:for\s+)?(?<what>.+?)[?.!]*$/iu;
const RECALL =
  /\b(?:remember|know|who am i|what(?:'s|’s| is| are| do| did| was)?\b.*\b(?:i|my|me)\b|where do i\b.*|when\b.*\bi\b.*)/iu;
const TOUR_WANTED = /\b(?:how|explain|tour|story|write|long|tell me|show)\b/iu;

/** Reads the end of a prompt, and the memory as it is. */
export async function nextMove(session: Session, prompt: LanguageModelV3Prompt): Promise<Move> {
  const move = await moveFor(session, prompt);
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

async function moveFor(session: Session, prompt: LanguageModelV3Prompt): Promise<Move> {
  const asked = prompt.findLastIndex(({ role }) => role === "user");
  const question = textOf(prompt[asked]);
  const result = resultIn(prompt.slice(asked + 1));
  const content = (await session.readContextBlock("memory"))?.content ?? "";
  const facts = factsIn(content);

  const unwanted = unwantedIn(question);
  if (unwanted !== null) return forget(unwanted, content, result);
  const sought = SEARCH.exec(question)?.groups?.what;
  if (sought !== undefined) return search(sought, result);

  // What is told beside a question is learned afterwards.
  const learned = isQuestion(question) ? [] : learnedFrom(question);
  if (learned.length > 0) return learn(learned, facts, content, result);
  if (RECALL.test(question)) return recall(question, facts);
  return { say: TOUR_WANTED.test(question) ? TOUR : HELP };
}

function learn(learned: readonly string[], facts: readonly string[], content: string, result: string | null): Move {
  if (result !== null) {
    if (result.startsWith("Error")) return { say: result };
    const list = learned.map((fact) => `- ${fact}`).join("\n");
    return { say: `I will remember that:\n\n${list}\n\nAsk me *“what do you know about me?”* in any chat.` };
  }
  const fresh = learned.filter((fact) => !facts.includes(fact));
  if (fresh.length === 0) return { say: `I know: **${learned.join("**, **")}**.` };
  const lines = `${content === "" || content.endsWith("\n") ? "" : "\n"}${fresh.map((fact) => `- ${fact}`).join("\n")}`;
  return { call: "set_context", input: { label: "memory", content: lines, action: "append" } };
}

function forget(unwanted: string, content: string, result: string | null): Move {
  if (result !== null)
    return { say: result.startsWith("Error") ? result : `Forgotten: what was noted about **${unwanted}**.` };
  const lines = content.split("\n");
  const gone = matching(lines, unwanted);
  if (gone.length === 0) return { say: `Nothing is noted about **${unwanted}**.` };
  const kept = lines.filter((line) => !gone.includes(line)).join("\n");
  return { call: "set_context", input: { label: "memory", content: kept } };
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
