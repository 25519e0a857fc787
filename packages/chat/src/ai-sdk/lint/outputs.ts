import type { Pieces, SessionMessage } from "@stemma/model";
import {
  estimateStringTokens,
  isInlineMedia,
  isSettled,
  isToolPart,
  readToolPart,
  shrinkJson,
  type ToolCallPart,
  toolNameOf,
} from "@stemma/model";
import type { ModelMessage } from "ai";
import type { LintRule, Report, Slot } from "./findings.js";
import { type ProviderName, rulesOf } from "./known-providers.js";
import { isOwnCall, type ProviderRules } from "./provider-rules.js";

interface OutputContext {
  readonly rules: ProviderRules;
  readonly knownTools: ReadonlySet<string>;
  /** True when the tool of this name says itself how a model is shown its result: media in it need not be text. */
  readonly showsMedia: (toolName: string) => boolean;
  readonly report: (rule: LintRule, message: string) => void;
}

const NO_OUTPUT = "(no output)";
/** More than a character takes, as estimated. */
const TOKENS_PER_CHARACTER = 1.3;

/** The call with a result that is not empty, and not larger than a window has room for. */
export function mendOutput(part: ToolCallPart, context: OutputContext): ToolCallPart {
  const { rules, knownTools, report } = context;
  const field = part.state === "output-available" ? "output" : part.state === "output-error" ? "errorText" : null;
  if (field === null || isOwnCall(part, rules, knownTools)) return part;
  const name = toolNameOf(part);
  const shown = mendResult(part[field], field === "output", rules, context.showsMedia(name));
  if (shown === part[field]) return part;
  if (shown === NO_OUTPUT) {
    report("empty-output", `The result of "${name}" is an empty text, which ${rules.name} refuse. It gets one.`);
    return { ...part, output: shown };
  }
  const most = rules.limits.output.toLocaleString("en");
  report("long-output", `The result of "${name}" has more than ${most} tokens, as estimated. It is cut.`);
  return { ...part, [field]: shown };
}

/** The result of a tool as the provider takes it; the same value when it does. An error is no `isOutput`. */
export function mendResult(value: unknown, isOutput: boolean, rules: ProviderRules, showsMedia = false): unknown {
  const isEmpty = typeof value === "string" && value.trim() === "";
  if (isOutput && isEmpty && !rules.takesEmptyOutput) return NO_OUTPUT;
  return shortened(value, rules.limits.output, showsMedia);
}

function shortened(output: unknown, maxTokens: number, showsMedia: boolean): unknown {
  const text = textOf(output, showsMedia);
  let tokens = tokensOf(text, maxTokens);
  if (tokens <= maxTokens) return output;
  let shown: unknown = output;
  // What JSON escapes makes the cut text longer than asked for.
  for (let chars = Math.floor((text.length * maxTokens) / tokens); tokens > maxTokens; chars = Math.floor(chars / 2)) {
    shown = shrinkJson(output, chars);
    tokens = tokensOf(textOf(shown, showsMedia), maxTokens);
  }
  return shown;
}

function tokensOf(text: string, enough: number): number {
  return text.length * TOKENS_PER_CHARACTER <= enough ? 0 : estimateStringTokens(text);
}

// What a model is shown as text; media are not where the tool says so.
function textOf(output: unknown, showsMedia: boolean): string {
  if (typeof output === "string") return output;
  function withoutMedia(this: unknown, key: string, value: unknown): unknown {
    return isInlineMedia(this, key, value) ? "" : value;
  }
  return JSON.stringify(output, showsMedia ? withoutMedia : undefined) ?? "";
}

type ToolMessage = Extract<ModelMessage, { role: "tool" }>;
type ToolPart = ToolMessage["content"][number];

/**
 * A mender of each message of one turn's steps: what tools of the turn gave comes as `repair` gives it in later turns. The
 * same message where nothing is to mend.
 */
export function stepResults(provider: ProviderName): <M>(message: M) => M {
  const rules = rulesOf(provider);
  // Each step has all results of those before.
  const known = new WeakMap<ToolPart, ToolPart>();
  const mended = (part: ToolPart): ToolPart => {
    if (part.type !== "tool-result" || part.output.type === "content" || !("value" in part.output)) return part;
    const value = mendResult(part.output.value, part.output.type === "text", rules);
    return value === part.output.value ? part : ({ ...part, output: { ...part.output, value } } as ToolPart);
  };
  const mendedOnce = (part: ToolPart): ToolPart => {
    const found = known.get(part) ?? mended(part);
    known.set(part, found);
    return found;
  };
  return (message) => {
    const { role, content } = message as ToolMessage;
    if (role !== "tool") return message;
    const parts = content.map(mendedOnce);
    return parts.every((part, index) => part === content[index]) ? message : { ...message, content: parts };
  };
}

/** A result in a part of its own, as other formats have it. */
export interface LooseResult {
  readonly output: unknown;
  readonly errorText: string | null;
}

/** Results by the call's id. One that is told with its call is taken out. */
interface Looseness {
  readonly results: Map<string, LooseResult>;
  readonly report: Report;
}

/** A part that only calls, or only answers, as the AI SDK's part that does both. */
function callPart(id: string, toolName: string, given: unknown, result: LooseResult | null): ToolCallPart {
  const call = { type: "dynamic-tool", toolName, toolCallId: id, input: given ?? {} };
  if (result === null) return { ...call, state: "input-available" };
  if (result.errorText !== null) return { ...call, state: "output-error", errorText: result.errorText };
  return { ...call, state: "output-available", output: result.output };
}

/** Results that stand in parts of their own, in whatever message. */
export function* looseResults(messages: readonly SessionMessage[]): Pieces<Map<string, LooseResult>> {
  const results = new Map<string, LooseResult>();
  const settled = new Set<string>();
  for (const { parts } of messages) {
    for (const part of parts) {
      const tool = readToolPart(part);
      if (tool === null || tool.toolCallId === null) continue;
      if (isToolPart(part)) {
        if (isSettled(part)) settled.add(tool.toolCallId);
      } else if (tool.kind !== "call") {
        results.set(tool.toolCallId, { output: tool.output, errorText: tool.errorText });
      }
    }
    yield;
  }
  for (const toolCallId of settled) results.delete(toolCallId);
  return results;
}

/** True for a call whose result stands in a part of its own. Where an approval was answered, the AI SDK will make the result. */
export function takesLooseResult(part: ToolCallPart, { results }: Looseness): boolean {
  return !isSettled(part) && part.state !== "approval-responded" && results.has(part.toolCallId);
}

/** The call of a part that only calls, or only answers, with its result; null, and reported, for what is left out. */
export function pairedCall(slot: Slot, { results, report }: Looseness): ToolCallPart | null {
  const { part } = slot;
  const tool = readToolPart(part);
  const id = tool?.toolCallId ?? null;
  if (tool === null || id === null) {
    report("unreadable-part", slot, `A part of the type "${part.type}" that is no call of the AI SDK. It is left out.`);
    return null;
  }
  const name = tool.toolName ?? "tool";
  const result = results.get(id) ?? null;
  results.delete(id);
  if (tool.kind !== "result") {
    report(
      "orphaned-call",
      slot,
      `The call of "${name}" stands apart from its result. It becomes a part that holds both.`,
    );
    return callPart(id, name, tool.input, result);
  }
  // Its call came before, and told it.
  if (result === null) {
    report("orphaned-result", slot, `The result of "${name}" stands apart from its call. It is told with the call.`);
    return null;
  }
  report("orphaned-result", slot, `The result of "${name}" has no call. It becomes a part that holds both.`);
  return callPart(id, name, {}, result);
}
