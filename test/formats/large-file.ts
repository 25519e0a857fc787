import { closeSync, openSync, writeSync } from "node:fs";
import { call, Transcript, text } from "./claude-code-lines.js";

/** Writes a transcript of one session with at least so many bytes. Gives how many messages it holds. */
export function writeLargeTranscript(path: string, bytes: number, lineLength: number): number {
  const transcript = new Transcript("22222222-2222-4222-8222-222222222222");
  const words = "The mill by the river turns all night. ";
  const file = openSync(path, "w");
  let written = 0;
  let messages = 0;
  let parent: string | null = null;
  try {
    for (let turn = 0; written < bytes; turn += 1) {
      const long = `${turn} ${words.repeat(Math.ceil(lineLength / words.length))}`;
      parent = transcript.user(parent, long);
      parent = transcript.assistant(parent, `msg_${turn}`, text(long));
      parent = transcript.assistant(parent, `msg_${turn}`, call(`call_${turn}`, { command: "ls" }));
      parent = transcript.result(parent, `call_${turn}`, long);
      if (turn % 5000 === 4999) parent = transcript.compaction(parent, `What was said up to turn ${turn}.`);
      messages += turn % 5000 === 4999 ? 3 : 2;
      const lines = transcript.lines.splice(0).map((line) => `${JSON.stringify(line)}\n`);
      written += writeSync(file, lines.join(""));
    }
  } finally {
    closeSync(file);
  }
  return messages;
}
