// A conversation of many turns with what happens between them: pauses, facts that the model or another chat writes.
import { readFileSync } from "node:fs";
import { makeMessages, random } from "../messages.mjs";

const MINUTE = 60_000;

/** The turns of the conversations of a LoCoMo file, or made ones: who asks, what is answered. */
export function readConversations(path) {
  if (path === undefined) return [pairs(makeMessages(400).map(({ parts }) => parts.at(-1).text))];
  return JSON.parse(readFileSync(path, "utf8")).map(({ conversation }) =>
    pairs(
      Object.keys(conversation)
        .filter((key) => /^session_\d+$/.test(key))
        .sort((a, b) => Number(a.slice(8)) - Number(b.slice(8)))
        .flatMap((key) => conversation[key].map(({ text }) => text)),
    ),
  );
}

function pairs(texts) {
  return texts.flatMap((text, index) =>
    index % 2 === 0 ? [{ question: text, answer: texts[index + 1] ?? "Yes." }] : [],
  );
}

/**
 * `count` turns of them. Of 100 turns about 12 end with a fact that the model writes down, and before 5 another chat wrote one;
 * 10 come after a pause of more than five minutes, 2 after one of more than an hour.
 */
export function turnsOf(conversation, count, seed) {
  const next = random(seed);
  return Array.from({ length: count }, (_, index) => {
    const { question, answer } = conversation[index % conversation.length];
    const chance = next();
    const pause = chance < 0.02 ? 60 + 300 * next() : chance < 0.12 ? 5.5 + 50 * next() : 0.1 + 2 * next();
    const fact = () => `Fact ${index}: ${answer.slice(0, 40 + Math.floor(80 * next()))}`;
    return {
      pause: pause * MINUTE,
      question: { id: `q${index}`, role: "user", parts: [{ type: "text", text: question }] },
      answer: { id: `a${index}`, role: "assistant", parts: [{ type: "text", text: answer }] },
      learned: next() < 0.12 ? fact() : null,
      elsewhere: next() < 0.05 ? fact() : null,
    };
  });
}
