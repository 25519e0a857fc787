import { StemmaError } from "@stemma/model";
import { chatgpt } from "./programs/chatgpt.js";
import { claude } from "./programs/claude/claude.js";
import { claudeCode } from "./programs/claude-code/claude-code.js";
import { codex } from "./programs/codex/codex.js";
import { gemini } from "./programs/gemini/gemini.js";
import { librechat } from "./programs/librechat.js";
import { openWebui } from "./programs/open-webui.js";
import { anthropic, cursor, modelMessages, openai } from "./programs/openai/openai.js";
import { opencode } from "./programs/opencode.js";
import { pi } from "./programs/pi/pi.js";
import { uiMessages } from "./programs/ui-messages.js";
import type { FileInfo, ImportFormat, Item, ParsedSession } from "./stemma/session-file.js";
import { stemmaJsonl } from "./stemma/stemma-jsonl.js";
import { UnreadCheck } from "./unread.js";

/** Every format that `import` reads. A file belongs to the first that recognises it. */
export const IMPORT_FORMATS: readonly ImportFormat[] = [
  stemmaJsonl,
  pi,
  claudeCode,
  codex,
  chatgpt,
  claude,
  gemini,
  opencode,
  librechat,
  openWebui,
  cursor,
  uiMessages,
  anthropic,
  modelMessages,
  openai,
];

/**
 * Reads a file's sessions, in the format named or in the one that its first value shows.
 * Errors: `UNKNOWN_FORMAT`, which names what is accepted, or says that a file holds nothing of the format named.
 */
export async function* sessionsOfItems(
  items: AsyncIterable<Item>,
  file: FileInfo,
  formatName?: string,
): AsyncGenerator<ParsedSession> {
  const named = formatName === undefined ? null : findFormat(formatName);
  const iterator = items[Symbol.asyncIterator]();
  const start: Item[] = [];
  let format = named;
  const unread = new UnreadCheck();
  let isFound = false;
  try {
    do {
      const next = await iterator.next();
      if (next.done) break;
      start.push(next.value);
    } while (start.at(-1)?.kind !== "value");
    format ??= recognise(start);
    if (format === null) throw unknown(start);
    if (named !== null) assertNoOther(named, start);
    async function* all(): AsyncGenerator<Item> {
      yield* start;
      yield* { [Symbol.asyncIterator]: () => iterator };
    }
    for await (const session of format.read(all(), file)) {
      isFound = true;
      // Our own file has whatever was stored.
      yield format === stemmaJsonl ? session : await unread.check(session);
    }
  } finally {
    // Closes the file, also where no reader has begun with it.
    await iterator.return?.();
  }
  if (named !== null && !isFound) assertOf(named, start);
}

/** The format of a file that begins so; null for one without a value, or whose first value starts no format. */
function recognise(start: readonly Item[]): ImportFormat | null {
  const last = start.at(-1);
  return last?.kind === "value" ? (IMPORT_FORMATS.find((known) => known.recognises(last.value)) ?? null) : null;
}

function findFormat(name: string): ImportFormat {
  const format = IMPORT_FORMATS.find((known) => known.name === name);
  if (format !== undefined) return format;
  const names = IMPORT_FORMATS.map((known) => known.name).join(", ");
  throw new StemmaError("UNKNOWN_FORMAT", { format: name }, `There is no format "${name}". Known are: ${names}.`);
}

// A reader takes what it can: of another format lines that say something else there, or messages without their contents.
function assertNoOther(named: ImportFormat, start: readonly Item[]): void {
  const last = start.at(-1);
  const other = recognise(start);
  if (other === null || last?.kind !== "value" || named.recognises(last.value) || named.alsoReads?.(last.value)) return;
  throw nothingOf(named, `its first value is of the format "${other.name}"`);
}

// Of a file in which a reader found no session. One that begins as the format does holds none; an empty one neither.
function assertOf(named: ImportFormat, start: readonly Item[]): void {
  const [first] = start;
  if (first === undefined || first.kind === "listEnd" || recognise(start) !== null) return;
  throw nothingOf(named, whyUnknown(start));
}

function nothingOf({ name }: ImportFormat, why: string): StemmaError {
  return new StemmaError("UNKNOWN_FORMAT", { format: name }, `It holds nothing of the format "${name}": ${why}.`);
}

function unknown(start: readonly Item[]): StemmaError {
  const accepted = IMPORT_FORMATS.map(({ name, about }) => `  ${name}: ${about}`).join("\n");
  const message = `The format was not recognised: ${whyUnknown(start)}. Accepted are:\n${accepted}`;
  return new StemmaError("UNKNOWN_FORMAT", {}, message);
}

function whyUnknown(start: readonly Item[]): string {
  const problem = start.find((item) => item.kind === "problem");
  const first = start.find((item) => item.kind === "value");
  if (first !== undefined) return `its first value, on line ${first.at.line}, starts none of the known formats`;
  return problem === undefined ? "it holds no value" : `line ${problem.at.line} is ${problem.why}`;
}
