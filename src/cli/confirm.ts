import { createInterface } from "node:readline/promises";
import { Readable } from "node:stream";
import type { Io } from "./io.js";

/** Asks a question on standard error that is answered with yes or no. Where nobody can answer, that is no. */
export async function confirm(io: Io, question: string): Promise<boolean> {
  if (!io.isTerminal.input) return false;
  io.writeError(`${question} [y/N] `);
  const lines = createInterface({ input: Readable.from(io.input) });
  try {
    for await (const line of lines) return /^y(es)?$/i.test(line.trim());
    return false;
  } finally {
    lines.close();
  }
}
