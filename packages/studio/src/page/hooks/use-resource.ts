import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { StudioReads } from "../../api.js";
import { ApiError, read } from "../api-client.js";
import type { Query } from "../router.js";

export interface Resource<T> {
  /** The newest answer; while another one is under way, the one before. Null before the first. */
  readonly data: T | null;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Reads a route, and again whenever the query changes. */
export function useResource<R extends keyof StudioReads>(route: R, query: Query): Resource<StudioReads[R]> {
  const [count, setCount] = useState(0);
  const [state, setState] = useState<{ data: StudioReads[R] | null; error: ApiError | null; done: string | null }>({
    data: null,
    error: null,
    done: null,
  });
  const wanted = `${JSON.stringify(query)} ${count}`;
  const latest = useRef(query);
  latest.current = query;
  useEffect(() => {
    const abort = new AbortController();
    read(route, latest.current, abort.signal).then(
      (data) => setState({ data, error: null, done: wanted }),
      (error: unknown) => {
        if (!abort.signal.aborted) setState((old) => ({ data: old.data, error: asApiError(error), done: wanted }));
      },
    );
    return () => abort.abort();
  }, [route, wanted]);
  const reload = useCallback(() => setCount((before) => before + 1), []);
  return { data: state.data, error: state.error, isLoading: state.done !== wanted, reload };
}

export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError("PAGE_FAULT", String(error));
}
