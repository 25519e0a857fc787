import { useEffect, useRef, useState } from "react";
import type { ChatTree } from "stemma/react";

const PAUSE = 1000;

interface Connection {
  /** True while the server cannot be reached. */
  readonly isLost: boolean;
  /** What the server said of an answer that failed, until the next is asked for. */
  readonly failure: string | null;
}

/** After an answer broke off, reads the chat as it is stored: again and again until the server can be reached. */
export function useReconnect({ status, error, reload }: ChatTree): Connection {
  const [failure, setFailure] = useState<string | null>(null);
  // What the server says is an Error; that it cannot be reached, a TypeError.
  const isLost = error instanceof TypeError;
  const latest = useRef(reload);
  latest.current = reload;

  useEffect(() => {
    if (!isLost) return;
    const timer = setInterval(() => latest.current().catch(() => {}), PAUSE);
    return () => clearInterval(timer);
  }, [isLost]);

  useEffect(() => {
    if (status === "submitted") setFailure(null);
    if (status !== "error" || isLost) return;
    setFailure(error?.message ?? "An error occurred.");
    latest.current().catch(() => {});
  }, [status, error, isLost]);
  return { isLost, failure };
}
