import { useEffect, useRef, useState } from "react";
import type { ChatTree } from "stemma/react";

const MARKED_FOR = 2500;

/** Goes to a message: to its branch, as far back as it is, and to its place. Gives the message that is to be marked. */
export function useGoTo(chat: ChatTree, target: string | null, onFound: () => void): string | null {
  const { messages, isLoading, hasPrevious, select, loadPrevious } = chat;
  const [marked, setMarked] = useState<string | null>(null);
  const selected = useRef<string | null>(null);
  const isShown = messages.some(({ id }) => id === target);

  // biome-ignore lint/correctness/useExhaustiveDependencies: each page that was read is looked at.
  useEffect(() => {
    if (target === null || isLoading) return;
    if (isShown) {
      setMarked(target);
      // The list sticks to its end when it is first drawn.
      setTimeout(() => document.getElementById(target)?.scrollIntoView({ block: "center" }), 60);
      onFound();
    } else if (selected.current !== target) {
      selected.current = target;
      select(target).catch(onFound);
    } else if (hasPrevious) {
      loadPrevious().catch(onFound);
    }
  }, [target, isLoading, isShown, messages.length, hasPrevious]);

  useEffect(() => {
    if (marked === null) return;
    const timer = setTimeout(() => setMarked(null), MARKED_FOR);
    return () => clearTimeout(timer);
  }, [marked]);
  return marked;
}
