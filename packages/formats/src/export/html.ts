import {
  beginning,
  formatDuration,
  isoTime,
  isSummaryMessage,
  mediaTypeOf,
  readToolPart,
  type SessionMessage,
  type SessionMessagePart,
  senderName,
  type ToolPart,
  toolMilliseconds,
} from "@stemma/model";
import type { SessionInfo, Store } from "@stemma/store";

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
