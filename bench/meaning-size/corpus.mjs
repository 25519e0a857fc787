// Messages in the words of LoCoMo, as many as are asked for, no two alike: each is one turn of its people and another one.
import { readFileSync } from "node:fs";
import { readLocomo } from "../recall/locomo.mjs";

const MESSAGES_OF_A_SESSION = 100;
const QUERIES = 200;

/** The different turns, and the questions that are asked: what the model embeds. */
export function readTexts(path) {
  const conversations = readLocomo(path);
  const turns = conversations.flatMap(({ sessions }) => sessions.flatMap(({ messages }) => messages.map(textOf)));
  const questions = conversations.flatMap(({ questions }) => questions.map(({ text }) => text));
  return {
    turns: [...new Set(turns)].filter((text) => text !== ""),
    queries: [...new Set(questions)].slice(0, QUERIES),
  };
}

const textOf = ({ parts }) => parts[0].text.replaceAll("\n", " ").trim();

/** Sessions of `total` messages, one after the other. */
export function* sessionsOf(turns, total) {
  for (let start = 0; start < total; start += MESSAGES_OF_A_SESSION) {
    const messages = Array.from({ length: Math.min(MESSAGES_OF_A_SESSION, total - start) }, (_, place) => ({
      id: `m${start + place}`,
      role: place % 2 === 0 ? "user" : "assistant",
      parts: [{ type: "text", text: messageText(turns, start + place) }],
    }));
    yield { id: `s${start / MESSAGES_OF_A_SESSION}`, messages };
  }
}

/** The text of message `index`: two turns, one below the other. */
export function messageText(turns, index) {
  const distance = 1 + Math.floor(index / turns.length);
  return `${turns[index % turns.length]}\n${turns[(index + distance) % turns.length]}`;
}

/** The vectors of a file, of so many numbers each. */
export function readVectors(path, dimensions) {
  const bytes = readFileSync(path);
  const numbers = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  return Array.from({ length: numbers.length / dimensions }, (_, place) =>
    numbers.subarray(place * dimensions, (place + 1) * dimensions),
  );
}
