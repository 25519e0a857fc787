import { closeSync, openSync, writeSync } from "node:fs";
import { rollout } from "../cli/import-home.js";
import { jsonl } from "../cli/read.js";
import { call, Transcript, text } from "./claude-code-lines.js";

/** How large a file is to be, and the texts in it. */
export interface FileSize {
  bytes: number;
  /** Characters of each text. */
  length: number;
}

/** What a file holds. */
export interface Written {
  sessions: number;
  messages: number;
}

/** Writes a file with at least so many bytes, and gives what it holds. */
export type WriteLargeFile = (path: string, size: FileSize) => Written;

/** A transcript of Claude Code of one session. */
export const writeLargeTranscript: WriteLargeFile = (path, { bytes, length }) => {
  const transcript = new Transcript("22222222-2222-4222-8222-222222222222");
  let parent: string | null = null;
  let messages = 0;
  writeUntil(path, bytes, (turn) => {
    parent = transcript.user(parent, words(turn, length));
    parent = transcript.assistant(parent, `msg_${turn}`, text(words(turn + 1, length)));
    parent = transcript.assistant(parent, `msg_${turn}`, call(`call_${turn}`, { command: "ls" }));
    parent = transcript.result(parent, `call_${turn}`, words(turn + 2, length));
    messages += 2;
    if (turn % 5000 === 4999) {
      parent = transcript.compaction(parent, `What was said up to turn ${turn}.`);
      messages += 1;
    }
    return jsonl(transcript.lines.splice(0));
  });
  return { sessions: 1, messages };
};

/** A rollout of Codex, of one session. */
export const writeLargeRollout: WriteLargeFile = (path, { bytes, length }) => {
  let messages = 0;
  writeUntil(path, bytes, (turn) => {
    const [meta, ...said] = rollout(
      "019a0000-0000-7000-8000-00000000000f",
      words(turn, length),
      words(turn + 1, length),
    );
    messages += 2;
    return jsonl(turn === 0 ? [meta, ...said] : said);
  });
  return { sessions: 1, messages };
};

/** An export of ChatGPT, of conversations with fifty questions each. */
export const writeLargeExport: WriteLargeFile = (path, { bytes, length }) => {
  let sessions = 0;
  const next = (number: number): string => {
    sessions += 1;
    const nodes = Array.from({ length: 100 }, (_, index) => {
      const content = { content_type: "text", parts: [words(number + index, length)] };
      const message = { author: { role: index % 2 === 0 ? "user" : "assistant" }, recipient: "all", content };
      return { id: `n${index}`, parent: index === 0 ? null : `n${index - 1}`, message };
    });
    const mapping = Object.fromEntries(nodes.map((node) => [node.id, node]));
    const conversation = { title: `Chat ${number}`, conversation_id: `chat-${number}`, mapping, current_node: "n99" };
    return `${number === 0 ? "[" : ","}${JSON.stringify(conversation)}`;
  };
  writeUntil(path, bytes, next, "]");
  return { sessions, messages: 100 * sessions };
};

/** Writes what `next` gives until there are so many bytes, and then the end. */
function writeUntil(path: string, bytes: number, next: (number: number) => string, end = ""): void {
  const file = openSync(path, "w");
  let written = 0;
  try {
    for (let number = 0; written < bytes; number += 1) written += writeSync(file, next(number));
    writeSync(file, end);
  } finally {
    closeSync(file);
  }
}

// Ten thousand words, in another order each time: an index of few words would need little memory.
function words(seed: number, length: number): string {
  let said = `${seed}`;
  for (let word = seed; said.length < length; word += 1) said += ` word${(word * 7919) % 10_000}`;
  return said;
}
