import type { ChatTree } from "stemma/react";
import { interruptionOf } from "./message-props";

interface FailureProps {
  chat: ChatTree;
  /** What the server said, if it said something. */
  text: string | null;
  own: (work: Promise<unknown>) => void;
}

/** What went wrong with the last answer, and the way to ask again. */
export function Failure({ chat, text, own }: FailureProps) {
  const { status, messages, isLoading } = chat;
  const last = messages.at(-1);
  if (last === undefined || isLoading || status === "submitted" || status === "streaming") return null;
  const isUnanswered = last.role === "user";
  // A cut answer says so itself.
  if (!isUnanswered && (text === null || interruptionOf(last) !== null)) return null;
  return (
    <p className="notice" role="alert">
      {text ?? "This message has no answer."}
      <button type="button" onClick={() => own(chat.regenerate())}>
        Ask again
      </button>
    </p>
  );
}
