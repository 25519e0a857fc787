import { shrinkJson } from "../../compaction/shrink.js";
import { isInlineMedia } from "../../model/media.js";
import { estimateStringTokens } from "../../model/tokens.js";
import { type ToolCallPart, toolNameOf } from "../../model/tool-calls.js";
import type { LintRule } from "./findings.js";
import { isOwnCall, type ProviderRules } from "./provider-rules.js";

interface OutputContext {
  readonly rules: ProviderRules;
  readonly knownTools: ReadonlySet<string>;
  /** True when the tool of this name says itself how a model is shown its result: media in it need not be text. */
  readonly showsMedia: (toolName: string) => boolean;
  readonly report: (rule: LintRule, message: string) => void;
}

/** What stands for a result without a text. */
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

/** What a tool gave as the provider takes it; the same value when it does. An error is no `isOutput`. */
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
