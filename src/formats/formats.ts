import { StemmaError } from "../errors.js";
import { chatgpt } from "./chatgpt/chatgpt.js";
import { claude } from "./claude/claude.js";
import { claudeCode } from "./claude-code/claude-code.js";
import { codex } from "./codex/codex.js";
import { openai } from "./openai.js";
import { pi } from "./pi.js";
import type { FileInfo, ImportFormat, Item, ParsedSession } from "./session-file.js";
import { stemmaJsonl } from "./stemma-jsonl.js";
import { uiMessages } from "./ui-messages.js";

/** Every format that `import` reads. A file belongs to the first that recognises it. */
export const IMPORT_FORMATS: readonly ImportFormat[] = [
  stemmaJsonl,
  pi,
  claudeCode,
  codex,
  chatgpt,
  claude,
  uiMessages,
  openai,
];

/**
 * Reads a file's sessions, in the format named or in the one that its first value shows.
 * Errors: `UNKNOWN_FORMAT`, which names what is accepted.
 */
export async function* sessionsOfItems(
  items: AsyncIterable<Item>,
  file: FileInfo,
  formatName?: string,
): AsyncGenerator<ParsedSession> {
  const iterator = items[Symbol.asyncIterator]();
  const start: Item[] = [];
  let format = formatName === undefined ? null : findFormat(formatName);
  while (format === null) {
    const next = await iterator.next();
    if (next.done) throw unknown(start);
    start.push(next.value);
    if (next.value.kind !== "value") continue;
    const { value } = next.value;
    format = IMPORT_FORMATS.find((known) => known.recognises(value)) ?? null;
    if (format === null) throw unknown(start);
  }
  async function* all(): AsyncGenerator<Item> {
    yield* start;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  yield* format.read(all(), file);
}

function findFormat(name: string): ImportFormat {
  const format = IMPORT_FORMATS.find((known) => known.name === name);
  if (format !== undefined) return format;
  const names = IMPORT_FORMATS.map((known) => known.name).join(", ");
  throw new StemmaError("UNKNOWN_FORMAT", { format: name }, `There is no format "${name}". Known are: ${names}.`);
}

function unknown(start: readonly Item[]): StemmaError {
  const problem = start.find((item) => item.kind === "problem");
  const first = start.find((item) => item.kind === "value");
  const why =
    first !== undefined
      ? `its first value, on line ${first.at.line}, starts none of the known formats`
      : problem !== undefined
        ? `line ${problem.at.line} is ${problem.why}`
        : "it holds no value";
  const accepted = IMPORT_FORMATS.map(({ name, about }) => `  ${name}: ${about}`).join("\n");
  return new StemmaError("UNKNOWN_FORMAT", {}, `The format was not recognised: ${why}. Accepted are:\n${accepted}`);
}
