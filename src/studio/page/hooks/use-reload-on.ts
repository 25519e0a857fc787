import { useEffect, useRef } from "preact/hooks";

/** Calls `reload` when the change of a session is another one than before. */
export function useReloadOn(change: string | null, reload: () => void): void {
  const known = useRef(change);
  useEffect(() => {
    if (known.current !== null && change !== null && known.current !== change) reload();
    if (change !== null) known.current = change;
  }, [change, reload]);
}
