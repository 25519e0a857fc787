import { truncateText } from "../../compaction/shrink.js";
import type { SessionMessagePart } from "../../model/message.js";
import { isToolPart } from "../../model/tool-calls.js";
import { type CallContext, mendCall, type TakenIds } from "./calls.js";
import { type Draft, type Slot, stepsOf } from "./draft.js";
import { mendFile } from "./files.js";
import type { Report } from "./findings.js";
import { type LooseResult, pairedCall, takesLooseResult } from "./loose-results.js";
import type { ProviderRules } from "./provider-rules.js";

/** What is known while the parts are mended, in the order of the history. */
export interface PartsContext {
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
export function mendParts(draft: Draft, isLast: boolean, context: PartsContext): Draft {
  const steps = stepsOf(draft.slots);
  const slots = steps.flatMap((step) =>
    step.flatMap((slot) => {
      const part = mendPart(slot, draft.role, { ...context, step, atEnd: isLast && step === steps.at(-1) });
      return part === null ? [] : [part === slot.part ? slot : { ...slot, part }];
    }),
  );
  return { ...draft, slots };
}

/** What is known of the step that a part belongs to. */
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
