import type { UIMessage } from "ai";
import type { ChatTree } from "stemma/react";

export interface MessageProps {
  chat: ChatTree;
  message: UIMessage;
  isMarked: boolean;
  isLast: boolean;
  own: (work: Promise<unknown>) => void;
}

export function textOf({ parts }: UIMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

/** Why an answer ended before its time, if it did. */
export function interruptionOf({ metadata }: UIMessage): string | null {
  const { interrupted } = (metadata ?? {}) as { interrupted?: unknown };
  return typeof interrupted === "string" ? interrupted : null;
}
