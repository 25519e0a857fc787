import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SessionView, TreePage, TreeRow } from "../../api.js";
import { type ApiError, read } from "../api-client.js";
import { asApiError } from "../hooks/use-resource.js";
import { LaneLayout, type Layout, NewestLeaf } from "./layout.js";

export interface Tree {
  /** Newest first. */
  readonly nodes: readonly TreeRow[];
  readonly layout: Layout;
  readonly isComplete: boolean;
  readonly error: ApiError | null;
  readonly more: () => void;
  /** Reads on until a message has come. */
  readonly readTo: (id: string) => Promise<void>;
  /** The newest leaf below a message; null where the message did not come yet. */
  readonly leafBelow: (id: string) => string | null;
}

const PAGE_SIZE = 500;

interface State {
  readonly nodes: readonly TreeRow[];
  readonly next: string | null;
  readonly layout: Layout;
  readonly lanes: LaneLayout;
  readonly leaves: NewestLeaf;
}

/** Reads the tree of a session page by page, newest first, and again what is new when the session changes. */
export function useTree({ session: { id }, leafId, stored, change }: SessionView): Tree {
  const [state, setState] = useState<State | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const present = useRef<State | null>(null);
  const underWay = useRef<Promise<void> | null>(null);

  const keep = useCallback((next: State) => {
    present.current = next;
    setState(next);
    setError(null);
  }, []);
  // One page at a time, in order: what is asked for follows from the pages before.
  const inTurn = useCallback((work: () => Promise<void>): Promise<void> => {
    const mine = (underWay.current ?? Promise.resolve())
      .then(work)
      .catch((fault: unknown) => setError(asApiError(fault)))
      .finally(() => {
        if (underWay.current === mine) underWay.current = null;
      });
    underWay.current = mine;
    return mine;
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `change` tells that there is something new to read.
  useEffect(() => {
    void inTurn(async () => {
      const page = await read("tree", { id, limit: PAGE_SIZE });
      keep(merged(present.current, page, leafId, stored));
    });
  }, [inTurn, keep, id, leafId, stored, change]);

  const readOn = useCallback(
    () =>
      inTurn(async () => {
        const after = present.current?.next ?? null;
        if (after !== null) keep(extended(present.current, await read("tree", { id, after, limit: PAGE_SIZE })));
      }),
    [inTurn, keep, id],
  );
  const leafBelow = useCallback((message: string) => present.current?.leaves.below(message) ?? null, []);
  const readTo = useCallback(
    async (message: string) => {
      let length = -1;
      while (present.current?.nodes.every((node) => node.id !== message) !== false) {
        const { nodes, next } = present.current ?? { nodes: [], next: "" };
        // A page that brought nothing failed.
        if (next === null || nodes.length === length) return;
        length = nodes.length;
        await readOn();
      }
    },
    [readOn],
  );
  return useMemo(
    () => ({
      nodes: state?.nodes ?? [],
      layout: state?.layout ?? { rows: [], width: 1 },
      isComplete: state !== null && state.next === null,
      error,
      more: () => {
        if (underWay.current === null) void readOn();
      },
      readTo,
      leafBelow,
    }),
    [state, error, readOn, readTo, leafBelow],
  );
}

function started(nodes: readonly TreeRow[], next: string | null, leafId: string | null): State {
  const lanes = new LaneLayout(leafId);
  const leaves = new NewestLeaf();
  leaves.add(nodes);
  return { nodes, next, lanes, leaves, layout: lanes.add(nodes) };
}

function extended(state: State | null, { nodes, next }: TreePage): State {
  if (state === null) return started(nodes, next, null);
  state.leaves.add(nodes);
  return { ...state, nodes: [...state.nodes, ...nodes], next, layout: state.lanes.add(nodes) };
}

// What is older than the newest page stays, as long as it still fits.
function merged(state: State | null, page: TreePage, leafId: string | null, stored: number): State {
  const last = page.nodes.at(-1)?.id;
  const place = state?.nodes.findIndex(({ id }) => id === last) ?? -1;
  if (state === null || place < 0) return started(page.nodes, page.next, leafId);
  const nodes = [...page.nodes, ...state.nodes.slice(place + 1)];
  const isWhole = state.next !== null || nodes.length === stored;
  return isWhole ? started(nodes, state.next, leafId) : started(page.nodes, page.next, leafId);
}
