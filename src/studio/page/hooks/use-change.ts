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
