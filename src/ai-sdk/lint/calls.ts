import { findJsonObject, isJsonObject } from "../../model/json-object.js";
import { INTERRUPTED, isSettled, type ToolCallPart, toolNameOf } from "../../model/tool-calls.js";
import { plainOf } from "./call-ids.js";
import type { LintRule } from "./findings.js";
import { mendOutput } from "./outputs.js";
import { isOwnCall, type ProviderRules } from "./provider-rules.js";

/** What the calls before one have taken. */
export interface TakenIds {
  readonly calls: Set<string>;
  readonly approvals: Set<string>;
  /** By an id: how many copies were tried, so that none is tried again. */
  readonly copies: Map<string, number>;
}

export interface CallContext {
  readonly rules: ProviderRules;
  readonly taken: TakenIds;
  /** The names of the request's tools; empty when they are not known. */
  readonly knownTools: ReadonlySet<string>;
  /** True where the AI SDK itself will run or refuse a call whose approval was answered: at the end of the history. */
  readonly atEnd: boolean;
  /** True when the AI SDK can run the tool of this name. */
  readonly canRun: (toolName: string) => boolean;
  /** True when the tool of this name says itself how a model is shown its result: media in it need not be text. */
  readonly showsMedia: (toolName: string) => boolean;
  readonly report: (rule: LintRule, message: string) => void;
}

/** What every provider takes. */
const MAX_NAME_LENGTH = 64;
const NOT_APPROVED = "This call needed an approval, which was not given. It did not run.";
const DENIED = "This call was denied. It did not run.";

/** The call as the provider takes it: answered, told as an ordinary call if need be, under a name and an id that it takes. */
export function mendCall(given: ToolCallPart, context: CallContext): ToolCallPart {
  let part = mendApproval(given, context);
  part = isWaiting(part, context) ? part : settle(part, context);
  part = mendForeign(part, context);
  part = mendError(part, context);
  part = mendOutput(part, context);
  part = mendInput(part, context);
  part = mendName(part, context);
  return mendId(part, context);
}

interface Approval {
  readonly id: string;
  readonly approved?: boolean;
  readonly reason?: string;
}

function approvalOf(part: ToolCallPart): Approval | null {
  const approval = part.approval as Approval | null | undefined;
  return typeof approval?.id === "string" ? approval : null;
}

function without(part: ToolCallPart, ...fields: string[]): ToolCallPart {
  return Object.fromEntries(
    Object.entries(part).filter(([field]) => !fields.includes(field)),
  ) as unknown as ToolCallPart;
}

// Of two requests with one id, the AI SDK would take the answer of one for the other.
function mendApproval(part: ToolCallPart, { taken, report }: CallContext): ToolCallPart {
  if (part.approval === undefined) return part;
  const approval = approvalOf(part);
  if (approval !== null && !taken.approvals.has(approval.id)) {
    taken.approvals.add(approval.id);
    return part;
  }
  const why = approval === null ? "An approval has no id" : `Two approvals have the id "${approval.id}"`;
  report("duplicate-approval-id", `${why}. The approval is left out; the call stays.`);
  return without(part, "approval");
}

function isWaiting(part: ToolCallPart, { atEnd, canRun, rules }: CallContext): boolean {
  if (part.state !== "approval-responded" || !atEnd || typeof approvalOf(part)?.approved !== "boolean") return false;
  if (part.providerExecuted === true) return rules.ranItself(part, new Set());
  return approvalOf(part)?.approved === false || canRun(toolNameOf(part));
}

function settle(part: ToolCallPart, { report }: CallContext): ToolCallPart {
  if (isSettled(part)) return part;
  const name = toolNameOf(part);
  const approval = approvalOf(part);
  const call = without(part, "output", "preliminary", "approval");
  const input = part.state === "input-streaming" ? {} : part.input;
  const failed = (errorText: string) => ({ ...call, state: "output-error", input, errorText }) as ToolCallPart;
  if (part.state === "approval-requested") {
    report("unfinished-approval", `The call of "${name}" waits for an approval. It gets an error as its result.`);
    return failed(NOT_APPROVED);
  }
  if (part.state === "approval-responded" && approval?.approved === false) {
    const message = `The call of "${name}" was denied, but has no result. The denial becomes its result.`;
    report("unfinished-approval", message);
    return failed(approval.reason?.trim() || DENIED);
  }
  report("unfinished-call", `The call of "${name}" has no result. It gets an error as its result.`);
  return failed(INTERRUPTED);
}

function mendForeign(part: ToolCallPart, context: CallContext): ToolCallPart {
  const { rules, taken, knownTools, report } = context;
  if (part.providerExecuted !== true || !isSettled(part)) return part;
  // An id that came before cannot be changed in what is the provider's own.
  if (isOwnCall(part, rules, knownTools) && !taken.calls.has(part.toolCallId)) return part;
  const message = `${rules.name} cannot take the call of "${toolNameOf(part)}" back as one that it ran. It is told as a call of your own.`;
  report("foreign-call", message);
  return without(part, "providerExecuted", "callProviderMetadata", "resultProviderMetadata");
}

function mendError(part: ToolCallPart, { report }: CallContext): ToolCallPart {
  if (part.state === "output-error" && typeof part.errorText === "string" && part.errorText.trim() === "") {
    report("empty-error", `The error of "${toolNameOf(part)}" says nothing. It gets a text.`);
    return { ...part, errorText: "The tool failed." };
  }
  const approval = approvalOf(part);
  if (approval?.approved === false && approval.reason?.trim() === "") {
    report("empty-error", `The reason of a denied call of "${toolNameOf(part)}" says nothing. It is left out.`);
    return { ...part, approval: { ...approval, reason: undefined } };
  }
  return part;
}

function mendInput(part: ToolCallPart, { rules, knownTools, report }: CallContext): ToolCallPart {
  if (isOwnCall(part, rules, knownTools)) return part;
  const given = part.input ?? (part.state === "output-error" ? part.rawInput : undefined);
  if (isJsonObject(given)) return part;
  report("call-input", `The input of "${toolNameOf(part)}" is not an object. It is put into one.`);
  return { ...without(part, "rawInput"), input: inputOf(given) } as ToolCallPart;
}

function inputOf(given: unknown): object {
  if (given === undefined || given === null || given === "") return {};
  if (typeof given !== "string") return { value: given };
  // A model may write broken JSON.
  return findJsonObject(given) ?? { value: given };
}

function mendName(part: ToolCallPart, { rules, knownTools, report }: CallContext): ToolCallPart {
  const name = toolNameOf(part);
  const plain = knownTools.has(name) || rules.toolNames.test(name) ? name : plainName(name);
  if (name === plain || isOwnCall(part, rules, knownTools)) return part;
  report("tool-name", `"${name}" cannot be the name of a tool. It becomes "${plain}".`);
  return part.type === "dynamic-tool" ? { ...part, toolName: plain } : { ...part, type: `tool-${plain}` };
}

function mendId(part: ToolCallPart, { rules, taken, knownTools, report }: CallContext): ToolCallPart {
  const { toolCallId } = part;
  const isOwn = isOwnCall(part, rules, knownTools) || part.providerExecuted === true;
  const { pattern, make } = rules.callIds;
  const plain = isOwn || pattern.test(toolCallId) ? toolCallId : make(toolCallId, 1);
  let free = plain;
  for (let copy = (taken.copies.get(plain) ?? 1) + 1; taken.calls.has(free); copy += 1) {
    taken.copies.set(plain, copy);
    free = make(toolCallId, copy);
  }
  taken.calls.add(free);
  if (free === toolCallId) return part;
  if (plain !== toolCallId) report("call-id", `${rules.name} refuses the id "${toolCallId}". It becomes "${free}".`);
  else report("duplicate-call-id", `The id "${toolCallId}" was there before. The later call's becomes "${free}".`);
  return { ...part, toolCallId: free };
}

function plainName(name: string): string {
  const plain = plainOf(name, "tool");
  return (/^[A-Za-z_]/.test(plain) ? plain : `_${plain}`).slice(0, MAX_NAME_LENGTH);
}
