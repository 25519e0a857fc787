/** What is wrong with a message, by a stable name. Each is explained in docs/repairing-messages.md. */
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
  /** What is wrong, and what `repair` does about it. */
  readonly message: string;
}

/** Takes what was found. `at` is the part, or null for the message. */
export type Report = (rule: LintRule, at: { messageId: string; index: number | null }, message: string) => void;
