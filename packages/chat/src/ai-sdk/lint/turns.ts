import type { SessionMessagePart } from "@stemma/model";
import { isToolPart, mapped, type Pieces, sha256 } from "@stemma/model";
import {
  addedDraft,
  type Draft,
  endsInResults,
  type Report,
  type Slot,
  stepsOf,
  whole,
  withSlots,
} from "./findings.js";
import type { CallIds, ProviderRules } from "./provider-rules.js";
export interface TurnsContext {
  readonly rules: ProviderRules;
  /** True for a data part that is shown to the model. */
  readonly isShownData: (part: SessionMessagePart) => boolean;
  readonly report: Report;
}

export const ROLES: ReadonlySet<string> = new Set(["system", "user", "assistant"]);

/** The messages, their parts mended, in an order that the provider takes. */
export function* mendTurns(given: readonly Draft[], context: TurnsContext): Pieces<Draft[]> {
  const { rules } = context;
  const known = yield* filtered(given, (draft) => isKnown(draft, context));
  const said = yield* filtered(known, (draft) => draft.role === "assistant" || isSaid(draft, context));
  const ended = yield* endReasoning(said, context);
  const led = yield* filtered(ended, (draft) => draft.role !== "assistant" || isSaid(draft, context));
  const placed = rules.systemFirst ? placeSystem(led, context) : led;
  yield;
  const joined = rules.alternating.length > 0 ? yield* alternate(placed, context) : placed;
  const answered = rules.answersResults ? yield* answerResults(joined, context) : joined;
  return addEnds(answered, given, context);
}

function* filtered(drafts: readonly Draft[], keeps: (draft: Draft) => boolean): Pieces<Draft[]> {
  const keep = yield* mapped(drafts, keeps);
  return drafts.filter((_, index) => keep[index]);
}

function isKnown(draft: Draft, { report }: TurnsContext): boolean {
  if (ROLES.has(draft.role)) return true;
  report("unknown-role", whole(draft), `No model takes the role "${draft.role}". The message is left out.`);
  return false;
}

function isContent(part: SessionMessagePart, role: string, { rules, isShownData }: TurnsContext): boolean {
  if (part.type === "text") return true;
  if (role === "system") return false;
  if (part.type === "file") return role === "user" || rules.answersFiles;
  if (part.type.startsWith("data-")) return isShownData(part);
  return role === "assistant" && isToolPart(part);
}

/** False, and reported, for a message that would reach the provider empty. */
function isSaid(draft: Draft, context: TurnsContext): boolean {
  const { role, slots } = draft;
  const leads = (part: SessionMessagePart) =>
    role === "assistant" && part.type === "reasoning" && context.rules.reasoningLeads;
  const said =
    role === "system"
      ? slots.some(({ part }) => part.type === "text" && part.text?.trim() !== "")
      : slots.some(({ part }) => isContent(part, role, context) || leads(part));
  if (!said) context.report("empty-message", whole(draft), "The message holds nothing to show. It is left out.");
  return said;
}

/** Leaves out reasoning that nothing follows before a user's message or a tool's result. */
function* endReasoning(drafts: readonly Draft[], context: TurnsContext): Pieces<Draft[]> {
  const dangling = new Set<Slot>();
  let run: Slot[] = [];
  const close = () => {
    const end = run.findLastIndex(({ part }) => isContent(part, "assistant", context));
    const rest = end === -1 || context.rules.reasoningLeads ? run.slice(end + 1) : [];
    for (const slot of rest) if (slot.part.type === "reasoning") dangling.add(slot);
    run = [];
  };
  // The chat completions leave reasoning out, so that a step without more would be empty.
  const isMessage = !context.rules.reasoningLeads && !context.rules.alternating.includes("assistant");
  for (const draft of drafts) {
    yield;
    if (draft.role !== "assistant") close();
    else
      for (const step of stepsOf(draft.slots)) {
        run.push(...step);
        if (endsInResults(step) || isMessage) close();
      }
  }
  close();
  for (const slot of dangling) {
    context.report("dangling-reasoning", slot, "Reasoning that led to nothing. It is left out.");
  }
  return yield* mapped(drafts, (draft) => withSlots(draft, (slot) => !dangling.has(slot)));
}

/** System messages that come later are told in the user's role. */
function placeSystem(drafts: readonly Draft[], { rules, report }: TurnsContext): Draft[] {
  const first = drafts.findIndex(({ role }) => role !== "system");
  return drafts.map((draft, index) => {
    if (draft.role !== "system" || first === -1 || index < first) return draft;
    const message = `${rules.name} take system messages only before all others. Its text is told as the user's.`;
    report("late-system-message", whole(draft), message);
    return withSlots({ ...draft, role: "user" }, ({ part }) => part.type === "text" && part.text?.trim() !== "");
  });
}

/** One message of a role after the other, as the provider counts them: an answer's steps are messages too. */
function* alternate(drafts: readonly Draft[], context: TurnsContext): Pieces<Draft[]> {
  const { rules, report } = context;
  const groups: Draft[][] = [];
  let open = false;
  for (const draft of drafts) {
    yield;
    const last = groups.at(-1);
    const apart = last?.[0]?.role !== draft.role || !rules.alternating.includes(draft.role);
    if (apart || (draft.role === "assistant" && !open)) {
      groups.push([draft]);
      open = false;
    } else {
      const message = `${rules.name} refuse two messages of one role in a row. They become one.`;
      report("consecutive-messages", whole(draft), message);
      last.push(draft);
    }
    if (draft.role === "assistant") open = joinSteps(draft.slots, context, open).open;
  }
  return yield* mapped(groups, (group) => {
    const draft = joined(group);
    if (draft.role !== "assistant") return draft;
    const { between } = joinSteps(draft.slots, context);
    for (const slot of between) {
      report("consecutive-messages", slot, "Two answers without anything between them. They become one.");
    }
    return withSlots(draft, (slot) => !between.has(slot));
  });
}

/** The last step of an answer in which something is said or called. */
function lastStep({ slots }: Draft, context: TurnsContext): readonly Slot[] {
  return stepsOf(slots).findLast((step) => step.some(({ part }) => isContent(part, "assistant", context))) ?? [];
}

/** Puts an answer between the results of tools and what the user says then. */
function* answerResults(drafts: readonly Draft[], context: TurnsContext): Pieces<Draft[]> {
  const { rules, report } = context;
  return yield* mapped(drafts, (draft, index) => {
    if (draft.role !== "assistant" || drafts[index + 1]?.role !== "user") return draft;
    const [slot] = draft.slots;
    if (slot === undefined || !endsInResults(lastStep(draft, context))) return draft;
    const message = `${rules.name} refuses what a user says after a tool's result that was not answered. A short answer is put between.`;
    report("unanswered-result", whole(draft), message);
    const added = [{ type: "step-start" }, { type: "text", text: "(The answer was cut off here.)" }];
    return { ...draft, slots: [...draft.slots, ...added.map((part) => ({ ...slot, part }))] };
  });
}

function joined(drafts: readonly Draft[]): Draft {
  const [first] = drafts as [Draft];
  return drafts.length === 1 ? first : { ...first, slots: drafts.flatMap(({ slots }) => slots) };
}

/**
 * The starts of steps without results of tools before them, and whether results are missing at the end too; `open` says whether
 * they are before the first step.
 */
function joinSteps(slots: readonly Slot[], context: TurnsContext, open = false): { between: Set<Slot>; open: boolean } {
  const between = new Set<Slot>();
  let starts: Slot[] = [];
  let isOpen = open;
  for (const step of stepsOf(slots)) {
    const [start] = step;
    if (isOpen && start?.part.type === "step-start") starts.push(start);
    if (!step.some(({ part }) => part.type === "reasoning" || isContent(part, "assistant", context))) continue;
    for (const slot of starts) between.add(slot);
    starts = [];
    isOpen = !endsInResults(step);
  }
  return { between, open: isOpen };
}

/** Begins and ends with a user's message where the provider asks for that. */
function addEnds(drafts: readonly Draft[], given: readonly Draft[], context: TurnsContext): Draft[] {
  const { rules, report } = context;
  const ends = [...drafts];
  const first = ends.findIndex(({ role }) => role !== "system");
  const [begin] = given;
  const begins = first !== -1 && (!rules.userFirstAndLast || ends[first]?.role === "user");
  if (begin !== undefined && !begins && (rules.userFirstAndLast || ends.length === 0)) {
    const message = "The conversation does not begin with a user's message. One is put before it.";
    report("first-message", whole(ends[first] ?? begin), message);
    ends.splice(first === -1 ? ends.length : first, 0, addedDraft("repair_first", "[The conversation begins here.]"));
  }
  const last = ends.at(-1);
  if (rules.userFirstAndLast && last?.role === "assistant" && !endsInResults(lastStep(last, context))) {
    report("last-message", whole(last), "The conversation ends with an answer. A user's message asks to go on.");
    ends.push(addedDraft("repair_last", "Continue."));
  }
  return ends;
}

/** A text of letters that every provider takes; `empty` for one without any. */
export function plainOf(text: string, empty: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, "_") || empty;
}

/** Ids of letters, digits, _ and -. */
export function plainIds(maxLength: number): CallIds {
  return {
    pattern: new RegExp(`^[A-Za-z0-9_-]{1,${maxLength}}$`),
    make: (id, copy) => {
      const suffix = copy === 1 ? "" : `_${copy}`;
      return plainOf(id, "call").slice(0, maxLength - suffix.length) + suffix;
    },
  };
}

/** Ids of exactly so many letters and digits. */
export function digestIds(length: number): CallIds {
  return {
    pattern: new RegExp(`^[A-Za-z0-9]{${length}}$`),
    make: (id, copy) => sha256(copy === 1 ? id : `${id} ${copy}`).slice(0, length),
  };
}
