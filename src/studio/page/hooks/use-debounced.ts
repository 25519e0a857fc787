import { useEffect, useRef } from "preact/hooks";

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
