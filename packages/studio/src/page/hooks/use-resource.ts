import { Recent } from "@stemma/model";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { StudioReads } from "../../api.js";
import { ApiError, read } from "../api-client.js";
import { isReturning } from "../location.js";
import type { Query } from "../router.js";

interface Resource<T> {
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

interface Page<T> {
  readonly items: readonly T[];
  /** The next page's cursor; null behind the last page. */
  readonly next: string | null;
}

interface Pages<T> {
  readonly items: readonly T[];
  /** All pages are read. */
  readonly isComplete: boolean;
  readonly isLoading: boolean;
  readonly error: ApiError | null;
  /** Reads the next page; does nothing while one is under way, or behind the last. */
  readonly more: () => void;
  /** Begins anew. What is there stays until the first page has come. */
  readonly reload: () => void;
}

interface State<T> extends Page<T> {
  readonly error: ApiError | null;
}

// What was read for a list stays for whoever comes back by the browser's history.
const recent = new Recent<State<unknown>>(8);

/**
 * Reads a list page by page. `key` names the list: another key is another list. Until its first page has come, the
 * rows of the list before stay. With `keep` the rows are there at once for whoever comes back by the browser's history.
 */
export function usePages<T>(
  key: string,
  readPage: (after: string | null, signal: AbortSignal) => Promise<Page<T>>,
  options: { readonly keep?: boolean } = {},
): Pages<T> {
  const [lists, setLists] = useState<Readonly<Record<string, State<T>>>>({});
  const underWay = useRef<AbortController | null>(null);
  const reader = useRef(readPage);
  reader.current = readPage;
  const mayReturn = options.keep === true && isReturning();
  const state = lists[key] ?? (mayReturn ? (recent.get(key) as State<T> | undefined) : undefined);
  const shown = state ?? Object.values(lists)[0];
  const present = useRef(state);
  present.current = state;

  const load = useCallback(
    (isFirst: boolean) => {
      underWay.current?.abort();
      const abort = new AbortController();
      underWay.current = abort;
      const before = isFirst ? [] : (present.current?.items ?? []);
      const store = (next: State<T>) => {
        if (abort.signal.aborted) return;
        underWay.current = null;
        if (options.keep === true) recent.set(key, next);
        setLists({ [key]: next });
      };
      reader.current(isFirst ? null : (present.current?.next ?? null), abort.signal).then(
        ({ items, next }) => store({ items: [...before, ...items], next, error: null }),
        (error: unknown) =>
          store({ items: present.current?.items ?? [], next: present.current?.next ?? null, error: asApiError(error) }),
      );
    },
    [key, options.keep],
  );
  useEffect(() => {
    if (present.current === undefined) load(true);
    return () => {
      underWay.current?.abort();
      underWay.current = null;
    };
  }, [load]);
  const more = useCallback(() => {
    if (underWay.current === null && present.current !== undefined && present.current.next !== null) load(false);
  }, [load]);
  const reload = useCallback(() => load(true), [load]);
  return {
    items: shown?.items ?? [],
    isComplete: state !== undefined && state.error === null && state.next === null,
    isLoading: state === undefined || (state.error === null && state.next !== null),
    error: state?.error ?? null,
    more,
    reload,
  };
}
