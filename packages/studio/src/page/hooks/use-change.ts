import { useEffect, useRef } from "preact/hooks";
import { read } from "../api-client.js";

const INTERVAL_MS = 1000;

/** Asks each second, while the page is visible, whether the session changed, and calls `onChange` when it did. */
export function useChange(id: string, known: string | null, onChange: () => void): void {
  const latest = useRef({ known, onChange });
  latest.current = { known, onChange };
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isAsking = false;
    const abort = new AbortController();
    const ask = async () => {
      isAsking = true;
      const view = latest.current.known === null ? null : await read("change", { id }, abort.signal).catch(() => null);
      isAsking = false;
      if (abort.signal.aborted) return;
      if (view !== null && view.change !== latest.current.known) latest.current.onChange();
      if (document.visibilityState === "visible") timer = setTimeout(ask, INTERVAL_MS);
    };
    const wake = () => {
      clearTimeout(timer);
      if (document.visibilityState === "visible" && !isAsking) void ask();
    };
    document.addEventListener("visibilitychange", wake);
    timer = setTimeout(ask, INTERVAL_MS);
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", wake);
    };
  }, [id]);
}

/** A function that is called once its caller has paused for `milliseconds`, with what was given last. */
export function useDebounced<T>(call: (value: T) => void, milliseconds: number): (value: T) => void {
  const latest = useRef(call);
  latest.current = call;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (value) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => latest.current(value), milliseconds);
  };
}

/** Calls `reload` when the change of a session is another one than before. */
export function useReloadOn(change: string | null, reload: () => void): void {
  const known = useRef(change);
  useEffect(() => {
    if (known.current !== null && change !== null && known.current !== change) reload();
    if (change !== null) known.current = change;
  }, [change, reload]);
}
