import { CornerDownRight } from "lucide-react";
import type { ChatFact } from "stemma/ai-sdk";
import { Link } from "wouter";
import { pathTo } from "../side-bar/found";
import { dayOf, shortTime } from "../times";

/** Where a fact comes from, and the way to its message. */
export function Why({ fact }: { fact: ChatFact }) {
  const { message } = fact;
  return (
    <details className="why">
      <summary>Why do you know that?</summary>
      <p>{reasonOf(fact)}</p>
      {message === null ? null : (
        <Link href={pathTo(message.chatId, message.messageId)} title={message.chatName}>
          <q>{message.text}</q>
          <span>
            <CornerDownRight aria-hidden /> Go to the message
          </span>
        </Link>
      )}
    </details>
  );
}

function reasonOf({ origin, updatedAt, message }: ChatFact): string {
  const day = dayOf(updatedAt);
  const when = day === "Today" ? `today at ${shortTime(updatedAt)}` : day === "Yesterday" ? "yesterday" : `on ${day}`;
  if (origin === "user") return message === null ? `You wrote it ${when}.` : `You wrote it ${when}. It came from:`;
  if (origin === "import") return `It was imported ${when}.`;
  return message === null ? `It was noted ${when}, in a chat that is gone.` : `You said so ${when}:`;
}
