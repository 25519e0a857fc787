import { findJson } from "../model/json-object.js";
import type { SessionMessagePart } from "../model/message.js";

const OPENING = '<details type="';
const CLOSING = "</details>";
const KINDS = ["reasoning", "tool_calls", "code_interpreter"];

/** The parts of a text in which Open WebUI wrote calls and reasoning as `<details>` elements. */
export function partsOfText(text: string): SessionMessagePart[] {
  const parts: SessionMessagePart[] = [];
  let end = 0;
  let body = 0;
  let closing = 0;
  const say = (words: string): void => {
    if (words.trim() !== "") parts.push({ type: "text", text: words.trim() });
  };
  for (let start = text.indexOf(OPENING); start !== -1; start = text.indexOf(OPENING, Math.max(start + 1, end))) {
    // Each is looked for once: an end that stands far behind would be looked for from every opening.
    if (body <= start) body = text.indexOf(">", start) + 1;
    if (closing < body) closing = text.indexOf(CLOSING, body);
    if (body === 0 || closing === -1) break;
    const next = text.indexOf(OPENING, start + 1);
    if (next !== -1 && next < body) continue;
    const attributes = attributesOf(text.slice(start, body));
    if (!KINDS.includes(attributes.type ?? "")) continue;
    say(text.slice(end, start));
    const words = text.slice(body, closing);
    parts.push(
      attributes.type === "tool_calls" ? callOf(attributes, parts.length) : { type: "reasoning", text: wordsOf(words) },
    );
    end = closing + CLOSING.length;
  }
  say(text.slice(end));
  return parts;
}

function callOf(
  { id, name, arguments: args, result }: Partial<Record<string, string>>,
  index: number,
): SessionMessagePart {
  const toolName = name ?? "unknown";
  const call = {
    type: "dynamic-tool",
    toolName,
    toolCallId: id ?? `${toolName}-${index}`,
    state: "input-available",
    // Both are JSON; that of arguments may hold another JSON as a text.
    input: jsonOf(jsonOf(args ?? "{}")),
  };
  return result === undefined || result === "" ? call : { ...call, state: "output-available", output: jsonOf(result) };
}

function jsonOf(value: unknown): unknown {
  return typeof value === "string" ? (findJson(value) ?? value) : value;
}

// What the model thought is a quotation, below a line for the reader.
function wordsOf(body: string): string {
  const words = unescaped(body.replace(/<summary>[^<]*<\/summary>/, "")).trim();
  return words.replace(/^> ?/gm, "");
}

function attributesOf(text: string): Partial<Record<string, string>> {
  const attributes: Record<string, string> = {};
  for (const [, name = "", value = ""] of text.matchAll(/(?<!\w)(\w+)="([^"]*)"/g)) attributes[name] = unescaped(value);
  return attributes;
}

const ENTITIES: Readonly<Record<string, string>> = { quot: '"', "#x27": "'", "#39": "'", lt: "<", gt: ">", amp: "&" };

function unescaped(text: string): string {
  return text.replace(/&(quot|#x27|#39|lt|gt|amp);/g, (entity, name: string) => ENTITIES[name] ?? entity);
}
