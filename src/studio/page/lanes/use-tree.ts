import { createContext } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SessionView, TreePage, TreeRow } from "../../api.js";
import { type ApiError, read } from "../api-client.js";
import { asApiError } from "../hooks/use-resource.js";
import { LaneLayout, type Layout } from "./layout.js";
import { NewestLeaf } from "./newest-leaf.js";

export interface Tree {
  /** Newest first. */
  readonly nodes: readonly TreeRow[];
  readonly layout: Layout;
  /** Every message is there. */
  readonly isComplete: boolean;
  readonly error: ApiError | null;
  readonly more: () => void;
  /** The newest leaf below a message. Reads on until the message has come; null where it is not in the session. */
  readonly leafBelow: (id: string) => Promise<string | null>;
  /** The same, of what was read so far. */
  readonly knownLeafBelow: (id: string) => string | null;
}

/** The tree of the session that is shown. */
export const TreeContext = createContext<Tree | null>(null);

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
  // One page at a time, in order.
  const readPage = useCallback(
    (after: string | null, take: (page: TreePage) => State): Promise<void> => {
      const work = (underWay.current ?? Promise.resolve())
        .then(() => read("tree", { id, after, limit: PAGE_SIZE }))
        .then((page) => keep(take(page)))
        .catch((fault: unknown) => setError(asApiError(fault)))
        .finally(() => {
          if (underWay.current === work) underWay.current = null;
        });
      underWay.current = work;
      return work;
    },
    [id, keep],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: `change` tells that there is something new to read.
  useEffect(() => {
    void readPage(null, (page) => merged(present.current, page, leafId, stored));
  }, [readPage, leafId, stored, change]);

  const readOn = useCallback(() => {
    const after = present.current?.next ?? null;
    return after === null ? null : readPage(after, (page) => extended(present.current, page));
  }, [readPage]);
  return useMemo(
    () => ({
      nodes: state?.nodes ?? [],
      layout: state?.layout ?? { rows: [], width: 1 },
      isComplete: state !== null && state.next === null,
      error,
      more: () => {
        if (underWay.current === null) void readOn();
      },
      leafBelow: async (message: string) => {
        while (present.current?.nodes.every((node) => node.id !== message)) {
          const reading = readOn();
          if (reading === null) return null;
          await reading;
        }
        return present.current?.leaves.below(message) ?? null;
      },
      knownLeafBelow: (message: string) => present.current?.leaves.below(message) ?? null,
    }),
    [state, error, readOn],
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
