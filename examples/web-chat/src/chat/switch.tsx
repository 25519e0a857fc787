import { ChevronLeft, ChevronRight } from "lucide-react";
import type { MessageProps } from "./message-props";

/** ‹ 1/2 › between the messages that were written in one place. */
export function Switch({ chat, message, own }: MessageProps) {
  const { index, count, previous, next } = chat.siblings(message.id);
  if (count < 2) return null;
  const go = (id: string | null) => {
    if (id !== null) own(chat.select(id));
  };
  return (
    <span className="switch">
      <button type="button" className="icon small" disabled={previous === null} onClick={() => go(previous)}>
        <ChevronLeft aria-hidden />
        <span className="unseen">The version before</span>
      </button>
      <span>
        {index + 1}/{count}
      </span>
      <button type="button" className="icon small" disabled={next === null} onClick={() => go(next)}>
        <ChevronRight aria-hidden />
        <span className="unseen">The next version</span>
      </button>
    </span>
  );
}
