import type { SessionMessagePart } from "../../model/message.js";
import { isToolPart } from "../../model/tool-calls.js";
import { type CallContext, mendCall, type TakenIds } from "./calls.js";
import { type Draft, type Slot, stepsOf } from "./draft.js";
import type { Report } from "./findings.js";
import { type LooseResult, pairedCall, takesLooseResult } from "./loose-results.js";
import type { ProviderRules } from "./provider-rules.js";

/** What is known while the parts are mended, in the order of the history. */
export interface PartsContext {
  readonly rules: ProviderRules;
  readonly knownTools: ReadonlySet<string>;
  readonly canRun: (toolName: string) => boolean;
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
  const item = role === "assistant" ? rules.itemId(part) : null;
  if (item === null) return part;
  if (items.has(item)) {
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

function mendFile(slot: Slot, role: string, { rules, report }: PartsContext): SessionMessagePart | null {
  const { part } = slot;
  const { url, mediaType, filename } = part;
  const readable = typeof url === "string" && typeof mediaType === "string" && isReadable(url);
  const answer = role === "assistant";
  const refused = answer ? !rules.answersFiles || !`${url}`.startsWith("data:") : !rules.files.test(`${mediaType}`);
  if (readable && !refused) return part;
  report("unreadable-file", slot, `${rules.name} cannot read a file (${mediaType}). A text says that there was one.`);
  const name = typeof filename === "string" ? ` "${filename}"` : "";
  return { type: "text", text: `[The file${name} (${mediaType}) cannot be shown to this model.]` };
}

// Without one expression for all of it: that would try each end of the type anew for each character.
function isReadable(url: string): boolean {
  if (!url.startsWith("data:")) return url !== "";
  const comma = url.indexOf(",");
  const [type = ""] = url.slice("data:".length, Math.max(comma, 0)).split(";", 1);
  const slash = type.indexOf("/");
  return slash > 0 && slash < type.length - 1 && comma < url.length - 1;
}
