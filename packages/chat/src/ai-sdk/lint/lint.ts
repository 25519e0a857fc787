// One pass over the messages of a request: each part in turn, as the provider takes it.
import {
  atOnce,
  check,
  contentForParts,
  defineOptions,
  findJsonObject,
  INTERRUPTED,
  inPieces,
  isJsonObject,
  isSettled,
  isToolPart,
  mapped,
  type Pieces,
  type SessionMessage,
  type SessionMessagePart,
  sendable,
  sendableMessage,
  type ToolCallPart,
  toolNameOf,
  truncateText,
} from "@stemma/model";
import { mendFile, mendFiles } from "./files.js";
import {
  type Draft,
  draftOf,
  type LintFinding,
  type LintRule,
  messageOf,
  type Report,
  type Slot,
  stepsOf,
} from "./findings.js";
import { type ProviderName, rulesOf } from "./known-providers.js";
import { type LooseResult, looseResults, mendOutput, pairedCall, takesLooseResult } from "./outputs.js";
import { isOwnCall, type ProviderRules } from "./provider-rules.js";
import { mendTurns, plainOf, ROLES } from "./turns.js";

/** Options of `convertToModelMessages` that change what a provider refuses: pass the ones that you pass there. */
export interface RepairOptions {
  /** The request's tools. Their names stay as they are; an approved call of a tool that is not among them cannot run. */
  readonly tools?: object | undefined;
  /** Makes a data part visible to the model. Without it no data part is. */
  // biome-ignore lint/suspicious/noExplicitAny: the part that a user's own function takes.
  readonly convertDataPart?: ((part: any) => unknown) | undefined;
}

const REPAIR = defineOptions<RepairOptions>({
  tools: check.rule("an object of tools by their names", isJsonObject),
  convertDataPart: check.callable,
});

/**
 * Lists what the provider would refuse of these UI messages, in the order of the messages; empty when it takes them as they are.
 * `provider` is a model of the AI SDK, or a name: "anthropic", "openai", "openai.chat", "google"; any other has the rules of
 * OpenAI-compatible servers. `repair` mends all that is found. Errors: `INVALID_MESSAGE` for a message without parts; what
 * `convertDataPart` throws.
 */
export function lint(
  messages: readonly SessionMessage[],
  provider: ProviderName,
  options: RepairOptions = {},
): LintFinding[] {
  REPAIR.assert(options, "lint()");
  return atOnce(mend(messages, provider, options)).findings;
}

/**
 * The messages as the provider takes them. Nothing given is changed: what needs no repair is returned as the same object, all
 * of them as the same array. What can be told in another way is kept; what cannot, is left out. The same messages are always
 * repaired alike, so a provider's cache of the prefix holds. Keep storing the originals. Errors as for `lint`.
 */
export function repair<M extends SessionMessage>(
  messages: M[],
  provider: ProviderName,
  options: RepairOptions = {},
): M[] {
  REPAIR.assert(options, "repair()");
  return atOnce(mend(messages, provider, options)).messages as M[];
}

/** Mends messages as `repair` does, and lets the event loop turn meanwhile. */
export async function repairInPieces<M extends SessionMessage>(
  messages: M[],
  provider: ProviderName,
  options: RepairOptions,
): Promise<M[]> {
  return (await inPieces(mend(messages, provider, options))).messages as M[];
}

interface Mended {
  readonly messages: readonly SessionMessage[];
  readonly findings: LintFinding[];
}

function* mend(messages: readonly SessionMessage[], provider: ProviderName, options: RepairOptions): Pieces<Mended> {
  const strange = messages.find(({ parts }) => !Array.isArray(parts));
  if (strange !== undefined) throw contentForParts(strange);
  const findings: LintFinding[] = [];
  const report: Report = (rule, { messageId, index }, message) => {
    findings.push({ rule, messageId, ...(index === null ? {} : { partIndex: index }), message });
  };
  const read = yield* mapped(messages, (message) => mendTexts(message, report));
  const context = { ...contextOf(provider, options), results: yield* looseResults(read), report };
  const last = read.findLastIndex(({ role }) => ROLES.has(role));
  const drafts = yield* mapped(read, (message, index) =>
    ROLES.has(message.role) ? mendParts(draftOf(message), index === last, context) : draftOf(message),
  );
  const turns = yield* mendTurns(yield* mendFiles(drafts, context), context);
  const mended = yield* mapped(turns, (draft) => messageOf(draft));
  const same = mended.length === messages.length && mended.every((message, index) => message === messages[index]);
  const places = new Map(messages.map(({ id }, index) => [id, index]));
  findings.sort((a, b) => (places.get(a.messageId) ?? 0) - (places.get(b.messageId) ?? 0));
  return { messages: same ? messages : mended, findings };
}

function contextOf(provider: ProviderName, options: RepairOptions) {
  const { tools, convertDataPart } = options;
  const named = tools as
    | Readonly<Record<string, { execute?: unknown; toModelOutput?: unknown } | undefined>>
    | undefined;
  return {
    rules: rulesOf(provider),
    knownTools: new Set(Object.keys(tools ?? {})),
    canRun: (name: string) => named === undefined || named[name]?.execute !== undefined,
    showsMedia: (name: string) => named?.[name]?.toModelOutput !== undefined,
    taken: { calls: new Set<string>(), approvals: new Set<string>(), copies: new Map<string, number>() },
    items: new Map<string, readonly Slot[]>(),
    isShownData: (part: SessionMessagePart) => convertDataPart?.(part) != null,
  } satisfies Omit<PartsContext, "results" | "report"> & { isShownData: unknown };
}

/** The message without halves of surrogate pairs and NUL, in whatever depth of its parts. */
function mendTexts(message: SessionMessage, report: Report): SessionMessage {
  const mended = sendableMessage(message);
  if (mended === message) return message;
  const why = "holds half of a surrogate pair or NUL, which is no text. U+FFFD stands for each.";
  const { id: messageId, parts } = message;
  const broken = parts.flatMap((part, index) => (sendable(part) === part ? [] : [index]));
  for (const index of broken) report("malformed-text", { messageId, index }, `A part ${why}`);
  if (broken.length === 0) report("malformed-text", { messageId, index: null }, `The message ${why}`);
  return mended;
}

interface PartsContext {
  readonly rules: ProviderRules;
  readonly knownTools: ReadonlySet<string>;
  readonly canRun: CallContext["canRun"];
  readonly showsMedia: CallContext["showsMedia"];
  readonly taken: TakenIds;
  /** The provider's own ids that came before, and the step of each. */
  readonly items: Map<string, readonly Slot[]>;
  /** Results in parts of their own, by the call's id. One that is told with its call is taken out. */
  readonly results: Map<string, LooseResult>;
  readonly report: Report;
}

/** The message with each part as the provider takes it. Parts that no model is shown stay as they are. */
function mendParts(draft: Draft, isLast: boolean, context: PartsContext): Draft {
  const steps = stepsOf(draft.slots);
  const slots = steps.flatMap((step) =>
    step.flatMap((slot) => {
      const part = mendPart(slot, draft.role, { ...context, step, atEnd: isLast && step === steps.at(-1) });
      return part === null ? [] : [part === slot.part ? slot : { ...slot, part }];
    }),
  );
  return { ...draft, slots };
}

interface StepContext extends PartsContext {
  readonly step: readonly Slot[];
  /** True for the last step of the history. */
  readonly atEnd: boolean;
}

function mendPart(slot: Slot, role: string, context: StepContext): SessionMessagePart | null {
  const { part } = slot;
  const report: CallContext["report"] = (rule, message) => context.report(rule, slot, message);
  if (typeof part?.type !== "string") {
    report("unreadable-part", "A part without a type. It is left out.");
    return null;
  }
  if (part.type === "text") return mendText(slot, role, context);
  if (part.type === "file") return mendFile(slot, role, context);
  if (part.type === "reasoning" && role === "assistant") return mendReasoning(slot, context);
  if (role !== "assistant" || !/^(tool-|dynamic-tool$)/.test(part.type)) return part;
  const call = isToolPart(part) && !takesLooseResult(part, context) ? part : pairedCall(slot, context);
  return call === null ? null : mendCall(call, { ...context, report });
}

function mendText(slot: Slot, role: string, { rules, items, step, report }: StepContext): SessionMessagePart | null {
  const { part } = slot;
  if (typeof part.text !== "string") {
    report("unreadable-part", slot, "A text part without a text. It is left out.");
    return null;
  }
  if (role !== "system" && part.text.trim() === "") {
    report("blank-text", slot, "A text of nothing but white space. It is left out.");
    return null;
  }
  if (part.text.length > rules.limits.text) {
    const most = rules.limits.text.toLocaleString("en");
    report("long-text", slot, `${rules.name} takes texts of up to ${most} characters. It is cut, and sent as a text.`);
    const { providerMetadata: _metadata, ...rest } = part;
    return { ...rest, text: truncateText(part.text, rules.limits.text) };
  }
  const item = role === "assistant" ? rules.itemId(part) : null;
  if (item === null) return part;
  if (!rules.takesItemId(item, part.type)) {
    report("item-id", slot, `"${item}" is no id of a text at ${rules.name}. The text is sent as a text.`);
  } else if (items.has(item)) {
    report("duplicate-item", slot, `${rules.name}'s item "${item}" was there before. The text is sent as a text.`);
  } else if (part.state === "streaming") {
    report(
      "unfinished-item",
      slot,
      `${rules.name} has not kept "${item}", which was cut off. The text is sent as a text.`,
    );
  } else {
    items.set(item, step);
    return part;
  }
  const { providerMetadata: _metadata, ...text } = part;
  return text;
}

function mendReasoning(slot: Slot, { rules, items, step, report }: StepContext): SessionMessagePart | null {
  const { part } = slot;
  if (typeof part.text !== "string" || !rules.takesReasoning(part)) {
    const message = `Reasoning that ${rules.name} did not sign: another model's, or cut off. It is left out.`;
    report("unsigned-reasoning", slot, message);
    return null;
  }
  const item = rules.itemId(part);
  if (item === null) return part;
  // The summaries of one item are parts of one step.
  if ((items.get(item) ?? step) !== step) {
    report("duplicate-item", slot, `${rules.name}'s item "${item}" was there before. The reasoning is left out.`);
    return null;
  }
  items.set(item, step);
  return part;
}

interface TakenIds {
  readonly calls: Set<string>;
  readonly approvals: Set<string>;
  /** By an id: how many copies were tried, so that none is tried again. */
  readonly copies: Map<string, number>;
}

interface CallContext {
  readonly rules: ProviderRules;
  readonly taken: TakenIds;
  readonly knownTools: ReadonlySet<string>;
  /** True where the AI SDK itself will run or refuse a call whose approval was answered: at the end of the history. */
  readonly atEnd: boolean;
  /** True when the AI SDK can run the tool of this name. */
  readonly canRun: (toolName: string) => boolean;
  /** True when the tool of this name says itself how a model is shown its result: media in it need not be text. */
  readonly showsMedia: (toolName: string) => boolean;
  readonly report: (rule: LintRule, message: string) => void;
}

const MAX_NAME_LENGTH = 64;
const NOT_APPROVED = "This call needed an approval, which was not given. It did not run.";
const DENIED = "This call was denied. It did not run.";

/** The call as the provider takes it: answered, as an ordinary call if need be, under a name and an id that it takes. */
function mendCall(call: ToolCallPart, context: CallContext): ToolCallPart {
  let part = mendApproval(call, context);
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
  // The AI SDK denies an approved call as well, with the reason of its answer, where the tool asks for no approval.
  const isTold = approval?.approved === false || part.state === "approval-responded";
  if (isTold && approval?.reason?.trim() === "") {
    report("empty-error", `The reason in the approval of "${toolNameOf(part)}" says nothing. It is left out.`);
    return { ...part, approval: { ...approval, reason: undefined } };
  }
  return part;
}

function mendInput(part: ToolCallPart, { rules, knownTools, report }: CallContext): ToolCallPart {
  if (isOwnCall(part, rules, knownTools)) return part;
  const input = part.input ?? (part.state === "output-error" ? part.rawInput : undefined);
  if (isJsonObject(input)) return part;
  report("call-input", `The input of "${toolNameOf(part)}" is not an object. It is put into one.`);
  return { ...without(part, "rawInput"), input: inputOf(input) } as ToolCallPart;
}

function inputOf(input: unknown): object {
  if (input === undefined || input === null || input === "") return {};
  if (typeof input !== "string") return { value: input };
  // A model may write broken JSON.
  return findJsonObject(input) ?? { value: input };
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
