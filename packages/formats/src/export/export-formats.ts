import {
  beginning,
  formatDuration,
  inPieces,
  isoTime,
  isSummaryMessage,
  mediaTypeOf,
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

/** Characters shown of a tool's input or output. */
const MAX_TOOL_CHARS = 20_000;

/** Pictures that stand in the file itself; no other `data:` URL does. */
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=\s]*$/;

/** Nothing in the file is run, and nothing is fetched, not even if a text should get past the escaping. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** A session's visible history as one HTML file to read, which needs no server and runs no script. */
export async function* toHtml(store: Store, session: SessionInfo): AsyncGenerator<string> {
  const name = escapeHtml(session.name === "" ? session.id : session.name);
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="color-scheme" content="light dark">
<title>${name}</title>
<style>${HTML_STYLE}</style>
</head>
<body>
<main>
<h1>${name}</h1>
<p class="about">Session <code>${escapeHtml(session.id)}</code>, <time>${escapeHtml(session.updated_at)}</time></p>
`;
  for await (const message of store.session(session.id).stream()) yield messageHtml(message);
  yield "</main>\n</body>\n</html>\n";
}

function messageHtml(message: SessionMessage): string {
  const isSummary = isSummaryMessage(message);
  const kind = isSummary ? "summary" : ["user", "assistant"].includes(message.role) ? message.role : "other";
  const name = senderName(message);
  const role = isSummary ? "summary of earlier messages" : message.role;
  const who = escapeHtml(name === "" ? role : `${role} (${name})`);
  const time = isoTime(message.createdAt);
  const when = time === null ? "" : ` <time datetime="${time}">${time}</time>`;
  const parts = message.parts.map((part) => partHtml(part, message)).filter((part) => part !== "");
  return `<article class="${kind}">\n<h2>${who}${when}</h2>\n${parts.join("\n")}\n</article>\n`;
}

function partHtml(part: SessionMessagePart, message: SessionMessage): string {
  const text = typeof part?.text === "string" ? part.text.trim() : "";
  if (part?.type === "text") return text === "" ? "" : `<div class="text">${escapeHtml(text)}</div>`;
  if (part?.type === "reasoning")
    return text === "" ? "" : folded("Reasoning", `<div class="text">${escapeHtml(text)}</div>`);
  const tool = readToolPart(part);
  if (tool !== null) return toolHtml(tool, toolMilliseconds(message, tool.toolCallId));
  if (part?.type === "file") return fileHtml(part);
  if (part?.type === "source-url") return linkTo(part.url);
  return "";
}

function toolHtml({ toolName, input, output, errorText, kind }: ToolPart, milliseconds: number | null): string {
  const answer = errorText ?? output;
  const result =
    kind === "call" ? "<p>(no result)</p>" : `<h3>${errorText === null ? "Result" : "Error"}</h3>${code(answer)}`;
  const call = kind === "result" ? "" : `<h3>Input</h3>${code(input)}`;
  const took = milliseconds === null ? "" : `, ${formatDuration(milliseconds)}`;
  return folded(`Tool: ${toolName ?? "unnamed"}${took}`, `${call}${result}`);
}

function fileHtml(part: SessionMessagePart & { filename?: unknown }): string {
  const name = typeof part.filename === "string" ? part.filename : (mediaTypeOf(part) ?? "file");
  const { url } = part;
  if (typeof url === "string" && PICTURE.test(url)) return `<img src="${escapeHtml(url)}" alt="${escapeHtml(name)}">`;
  return linkTo(url, name) || `<p class="file">${escapeHtml(name)}</p>`;
}

// Only addresses of the web are links.
function linkTo(url: unknown, name?: string): string {
  if (typeof url !== "string" || !/^https?:\/\//i.test(url)) return "";
  return `<p class="file"><a href="${escapeHtml(url)}" rel="noreferrer noopener">${escapeHtml(name ?? url)}</a></p>`;
}

function folded(title: string, content: string): string {
  return `<details><summary>${escapeHtml(title)}</summary>${content}</details>`;
}

function code(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  const rest = text.length - MAX_TOOL_CHARS;
  const more = rest > 0 ? `<p>${rest.toLocaleString("en")} more characters</p>` : "";
  return `<pre>${escapeHtml(beginning(text, MAX_TOOL_CHARS))}</pre>${more}`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A text as it stands in HTML, between tags or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

const HTML_STYLE = `
:root { color-scheme: light dark; font: 16px/1.55 system-ui, sans-serif; }
body { margin: 0; background: light-dark(#fff, #16181c); color: light-dark(#1c1f24, #e6e8eb); }
main { max-width: 46rem; margin: 0 auto; padding: 2rem 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
h2, .about { font-size: .85rem; font-weight: 600; color: light-dark(#5b6470, #9aa4b1); overflow-wrap: anywhere; }
h2 time { font-weight: 400; }
h3 { font-size: .8rem; margin: .75rem 0 .25rem; }
article { margin: 1rem 0; padding: .25rem 1rem 1rem; border: 1px solid light-dark(#d9dde3, #31363d); border-radius: .5rem; }
article.user { background: light-dark(#f3f6fb, #1d2128); }
article.summary { border-style: dashed; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.text + *, details + * { margin-top: .75rem; }
details { border-left: 3px solid light-dark(#d9dde3, #31363d); padding-left: .75rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem; }
img { max-width: 100%; height: auto; }
`;
