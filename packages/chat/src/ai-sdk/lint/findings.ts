import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import { isToolPart } from "@stemma/model";
/** A fault of a message, by a stable name. Each is explained in docs/background/repairs.md. */
export type LintRule =
  | "unknown-role"
  | "unreadable-part"
  | "unreadable-file"
  | "large-file"
  | "too-many-files"
  | "file-name"
  | "file-without-text"
  | "malformed-text"
  | "blank-text"
  | "long-text"
  | "empty-message"
  | "unfinished-call"
  | "unfinished-approval"
  | "orphaned-call"
  | "orphaned-result"
  | "foreign-call"
  | "call-id"
  | "duplicate-call-id"
  | "tool-name"
  | "call-input"
  | "empty-error"
  | "empty-output"
  | "long-output"
  | "duplicate-approval-id"
  | "unsigned-reasoning"
  | "dangling-reasoning"
  | "item-id"
  | "duplicate-item"
  | "unfinished-item"
  | "late-system-message"
  | "consecutive-messages"
  | "unanswered-result"
  | "first-message"
  | "last-message";

/** One thing that a provider refuses, or that its converter fails on. */
export interface LintFinding {
  readonly rule: LintRule;
  readonly messageId: string;
  /** The part, counted from 0 in the message as it was given; absent when the message as a whole is meant. */
  readonly partIndex?: number;
  /** The fault in words, and what `repair` does about it. */
  readonly message: string;
}

/** Takes what was found. `at` is the part, or null for the message. */
export type Report = (rule: LintRule, at: { messageId: string; index: number | null }, message: string) => void;

/** A part, and where it stood when it was given. */
export interface Slot {
  readonly messageId: string;
  readonly index: number;
  readonly part: SessionMessagePart;
}

export interface Draft {
  readonly source: SessionMessage;
  readonly role: string;
  readonly slots: readonly Slot[];
}

export function draftOf(source: SessionMessage): Draft {
  const slots = source.parts.map((part, index) => ({ messageId: source.id, index, part }));
  return { source, role: source.role, slots };
}

/** The mended message: the same object when nothing was to mend. */
export function messageOf<M extends SessionMessage>({ source, role, slots }: Draft): M {
  const same = slots.length === source.parts.length && slots.every(({ part }, index) => part === source.parts[index]);
  if (same && role === source.role) return source as M;
  return { ...source, role, parts: slots.map(({ part }) => part) } as M;
}

/** A message that a repair adds. Its id is always the same, so that the request is too. */
export function addedDraft(id: string, text: string): Draft {
  return draftOf({ id, role: "user", parts: [{ type: "text", text }] });
}

/** The parts of an answer, step by step: what was said in one call of the model. Each `step-start` stands in its step. */
export function stepsOf(slots: readonly Slot[]): Slot[][] {
  const steps: Slot[][] = [[]];
  for (const slot of slots) {
    if (slot.part.type === "step-start") steps.push([]);
    steps.at(-1)?.push(slot);
  }
  return steps;
}

/** True when the results of tools follow the step, in a message of their own. */
export function endsInResults(step: readonly Slot[]): boolean {
  return step.some(
    ({ part }) => isToolPart(part) && (part.providerExecuted !== true || isAnsweredApproval(part.approval)),
  );
}

function isAnsweredApproval(approval: unknown): boolean {
  return (approval as { approved?: unknown } | null | undefined)?.approved != null;
}

/** Where a finding is that means a message as a whole. */
export const whole = ({ source }: Draft) => ({ messageId: source.id, index: null });

/** The message with the slots that are kept. */
export function withSlots(draft: Draft, keep: (slot: Slot) => boolean): Draft {
  return draft.slots.every(keep) ? draft : { ...draft, slots: draft.slots.filter(keep) };
}
