import {
  beginning,
  formatDuration,
  inPieces,
  isoTime,
  isSummaryMessage,
  readToolPart,
  type SessionMessage,
  type SessionMessagePart,
  StemmaError,
  senderName,
  type ToolPart,
  toolMilliseconds,
  yieldIfDue,
} from "@stemma/model";
import { assertStore, type MemoryOwner, type SessionInfo, type Store } from "@stemma/store";
import { toOpenai } from "../programs/openai/openai-export.js";
import { toPi } from "../programs/pi/pi-export.js";
import { exportJsonl, exportMemory, readStoredSession } from "../stemma/store-lines.js";
import { toHtml } from "./html.js";

/** Characters shown of a tool's output; more is not read. */
const MAX_OUTPUT_CHARS = 4_000;

/** A session's visible history as a transcript to read. Not meant to be read back. */
async function* toMarkdown(store: Store, session: SessionInfo): AsyncGenerator<string> {
  yield `# ${heading(session.name)}\n\nSession \`${session.id}\`, ${session.updated_at}\n`;
  for await (const message of store.session(session.id).stream()) yield messageText(message);
  yield "\n";
}

function messageText(message: SessionMessage): string {
  const time = isoTime(message.createdAt);
  const name = senderName(message);
  const who = isSummaryMessage(message) ? "Summary of earlier messages" : capitalised(message.role);
  const head = `\n## ${heading(name === "" ? who : `${who} (${name})`)}${time === null ? "" : ` · ${time}`}\n`;
  const parts = message.parts.map((part) => partText(part, message)).filter((text) => text !== "");
  return [head, ...parts.map((text) => `\n${text}\n`)].join("");
}

function partText(part: SessionMessagePart, message: SessionMessage): string {
  const text = typeof part.text === "string" ? part.text.trim() : "";
  if (part.type === "text") return text;
  if (part.type === "reasoning") return text === "" ? "" : text.replace(/^/gmu, "> ");
  const tool = readToolPart(part);
  if (tool !== null) return toolText(tool, toolMilliseconds(message, tool.toolCallId));
  if (part.type === "file") return fileText(part);
  if (part.type === "source-url" && typeof part.url === "string") return `Source: <${part.url}>`;
  return "";
}

function toolText({ toolName, input, output, errorText, kind }: ToolPart, milliseconds: number | null): string {
  const took = milliseconds === null ? "" : ` (${formatDuration(milliseconds)})`;
  const call = `**${toolName ?? "tool"}**${took}\n\n${fenced(input, "json")}`;
  if (kind === "call") return `${call}\n\n(no result)`;
  return `${call}\n\n${errorText === null ? "Result:" : "Error:"}\n\n${fenced(errorText ?? output)}`;
}

function fileText({ url, mediaType, filename }: SessionMessagePart & { filename?: unknown }): string {
  const name = typeof filename === "string" ? filename : (mediaType ?? "file");
  if (typeof url !== "string" || url.startsWith("data:")) return `[${name}]`;
  return `${mediaType?.startsWith("image/") ? "!" : ""}[${name}](<${url}>)`;
}

// A fence longer than any in the text, so that no text ends it.
function fenced(value: unknown, language = ""): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  const longest = (text.match(/`+/g) ?? []).reduce((length, run) => Math.max(length, run.length), 2);
  const fence = "`".repeat(longest + 1);
  const rest = text.length - MAX_OUTPUT_CHARS;
  const more = rest > 0 ? `\n(${rest.toLocaleString("en")} more characters)` : "";
  return `${fence}${language}\n${beginning(text, MAX_OUTPUT_CHARS)}${more}\n${fence}`;
}

function heading(text: string): string {
  return text.replace(/\s+/gu, " ");
}

function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** A format that can be written: one file each, listed below. */
interface ExportFormat {
  name: string;
  about: string;
  /** The session as pieces of text, line ends included. */
  write(store: Store, session: SessionInfo): AsyncIterable<string>;
  /** Writes what is remembered outside of sessions, as pieces of text. Missing where the format has no place for it. */
  writeMemory?(store: Store, owner: MemoryOwner): AsyncIterable<string>;
}

export const EXPORT_FORMATS: readonly ExportFormat[] = [
  {
    name: "jsonl",
    about:
      "everything: branches, summaries, active leaf, blocks, entries, versions, usage; `import` gives an equal session",
    write: (store, session) => withLineEnds(exportJsonl(store, session)),
    writeMemory: (store, owner) => withLineEnds(exportMemory(store, owner)),
  },
  { name: "markdown", about: "the visible history, to read", write: toMarkdown },
  { name: "html", about: "the visible history as a page that needs no server and runs no script", write: toHtml },
  {
    name: "openai",
    about: "the active path without summaries, as OpenAI chat messages: a line of { messages: […] }",
    async *write(store, session) {
      const { messages } = await store.session(session.id).path({ summaries: false });
      const list = await inPieces(toOpenai(messages));
      const [key = "", value] = Object.entries(list).at(-1) ?? [];
      // In pieces, since the whole is one line.
      let start = JSON.stringify({ ...list, [key]: [] }).slice(0, -2);
      for (const message of value as unknown[]) {
        await yieldIfDue();
        yield start + JSON.stringify(message);
        start = ",";
      }
      yield `${start === "," ? "" : start}]}\n`;
    },
  },
  {
    name: "pi",
    about: "all branches and summaries, as a pi session file",
    async *write(store, session) {
      for (const entry of await inPieces(toPi(await readStoredSession(store, session)))) {
        const due = yieldIfDue();
        if (due !== null) await due;
        yield `${JSON.stringify(entry)}\n`;
      }
    },
  },
];

async function* withLineEnds(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}

/** Errors: `UNKNOWN_FORMAT`. */
export function findExportFormat(name: string): ExportFormat {
  const format = EXPORT_FORMATS.find((known) => known.name === name);
  if (format !== undefined) return format;
  const names = EXPORT_FORMATS.map((known) => known.name).join(", ");
  throw new StemmaError("UNKNOWN_FORMAT", { format: name }, `There is no format "${name}". Known are: ${names}.`);
}

/**
 * Writes a session as pieces of text, line ends included. The formats are `jsonl`, the default, which `importSession` makes
 * an equal session of, `markdown`, `html`, `openai` and `pi`. Errors: `STORE_UNSUPPORTED`; while it is read,
 * `UNKNOWN_FORMAT` and `SESSION_NOT_FOUND`.
 */
export function exportSession(store: Store, sessionId: string, format = "jsonl"): AsyncGenerator<string> {
  assertStore(store, "exportSession()");
  return piecesOf(store, sessionId, format);
}

async function* piecesOf(store: Store, sessionId: string, format: string): AsyncGenerator<string> {
  const { write } = findExportFormat(format);
  const info = await store.sessions.get(sessionId);
  if (info === null) throw new StemmaError("SESSION_NOT_FOUND", { sessionId }, `There is no session "${sessionId}".`);
  yield* write(store, info);
}
