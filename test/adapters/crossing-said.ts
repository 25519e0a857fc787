import type { SessionMessage, SessionMessagePart } from "../../packages/model/src/messages/message.js";
import { readToolPart } from "../../packages/model/src/messages/tool-parts.js";

/** A piece of a conversation, in the form of no framework. */
export type Said = { user: string; image?: string } | { answer: string } | Call;

export interface Call {
  readonly call: string;
  readonly tool: string;
  readonly input: unknown;
  readonly output: unknown;
}

/** One conversation with what every framework knows. */
export const CONVERSATION: readonly Said[] = [
  { user: "Is it warmer in Oslo or in Rome?" },
  { call: "c1", tool: "weather", input: { city: "Oslo" }, output: { degrees: 3 } },
  { call: "c2", tool: "weather", input: { city: "Rome" }, output: "mild, they say" },
  { answer: "In Rome. “Überraschung!” 🌦" },
  { user: "And here?", image: `data:image/png;base64,${"A".repeat(64)}` },
  { answer: "I see no sky." },
];

export function isCall(said: Said): said is Call {
  return "call" in said;
}

/** What is said in one go: calls of the model stand together. */
export function stepsOf(conversation: readonly Said[]): Said[][] {
  const steps: Said[][] = [];
  for (const said of conversation) {
    const step = steps.at(-1);
    if (step?.every(isCall) === true && isCall(said)) step.push(said);
    else steps.push([said]);
  }
  return steps;
}

/** The conversation as the AI SDK has it: all that is said between two questions is one message. */
export function toUiMessages(conversation: readonly Said[]): SessionMessage[] {
  const messages: SessionMessage[] = [];
  for (const step of stepsOf(conversation)) {
    const last = messages.at(-1);
    const parts = step.flatMap(toParts);
    if ("user" in (step[0] as Said)) messages.push({ id: crypto.randomUUID(), role: "user", parts });
    else if (last?.role === "assistant") last.parts.push({ type: "step-start" }, ...parts);
    else messages.push({ id: crypto.randomUUID(), role: "assistant", parts: [{ type: "step-start" }, ...parts] });
  }
  return messages;
}

export function fromUiMessages(messages: readonly SessionMessage[]): Said[] {
  return messages.flatMap(({ role, parts }) => {
    const text = parts.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join("");
    const image = parts.find(({ type }) => type === "file")?.url;
    if (role === "user") return [typeof image === "string" ? { user: text, image } : { user: text }];
    return parts.flatMap((part): Said[] => {
      const tool = readToolPart(part);
      if (tool?.kind === "both") {
        const { toolCallId, toolName, input, output } = tool;
        return [{ call: toolCallId ?? "", tool: toolName ?? "", input, output: asValue(output) }];
      }
      return part.type === "text" ? [{ answer: part.text ?? "" }] : [];
    });
  });
}

/** A result as a text. */
export function textOf(output: unknown): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}

/** A result as a value: some frameworks have a JSON object as its text. */
export function asValue(output: unknown): unknown {
  return typeof output === "string" && output.startsWith("{") ? JSON.parse(output) : output;
}

function toParts(said: Said): SessionMessagePart[] {
  if ("answer" in said) return [{ type: "text", text: said.answer }];
  if (isCall(said)) {
    const { call: toolCallId, tool, input, output } = said;
    return [{ type: `tool-${tool}`, toolCallId, state: "output-available", input, output }];
  }
  const image = said.image === undefined ? [] : [{ type: "file", mediaType: "image/png", url: said.image }];
  return [{ type: "text", text: said.user }, ...image];
}
