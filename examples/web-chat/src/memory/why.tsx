import { CornerDownRight } from "lucide-react";
import type { ChatBlockVersion } from "stemma/ai-sdk";
import { Link } from "wouter";
import { pathTo } from "../side-bar/found";
import { dayOf, shortTime } from "../times";

/** Where a fact comes from, and the way to its message. */
export function Why({ origin }: { origin: ChatBlockVersion | null }) {
  return (
    <details className="why">
      <summary>Why do you know that?</summary>
      <p>{origin === null || origin.author === null ? "That was noted too long ago to say." : reasonOf(origin)}</p>
      {origin?.message ? (
        <Link href={pathTo(origin.message.chatId, origin.message.messageId)} title={origin.message.chatName}>
          <q>{origin.message.text}</q>
          <span>
            <CornerDownRight aria-hidden /> Go to the message
          </span>
        </Link>
      ) : null}
    </details>
  );
}

function reasonOf({ author, writtenAt, message }: ChatBlockVersion): string {
  const day = dayOf(writtenAt);
  const when = day === "Today" ? `today at ${shortTime(writtenAt)}` : day === "Yesterday" ? "yesterday" : `on ${day}`;
  if (author === "program") return `You wrote it ${when}.`;
  if (author === "import") return `It was imported ${when}.`;
  return message === null ? `It was noted ${when}, in a chat that is gone.` : `You said so ${when}:`;
}
