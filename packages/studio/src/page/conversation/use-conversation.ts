import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { MessagePage } from "../../api.js";
import { type ApiError, read } from "../api-client.js";
import { asApiError } from "../hooks/use-resource.js";
import { linkHere, navigate } from "../location.js";
import { asPiece, extended, MOST_ROWS, type Piece } from "./piece.js";

/** Which path is shown, and where. */
export interface PathSource {
  readonly id: string;
  /** The path's last message; null for the active leaf. */
  readonly leaf: string | null;
  /** The message to show; null for the newest. */
  readonly at: string | null;
  /** Without summaries. */
  readonly originals: boolean;
}

export interface Conversation {
  /** Null until the first piece has come. */
  readonly piece: Piece | null;
  readonly error: ApiError | null;
  readonly showOlder: () => void;
  readonly showNewer: () => void;
  readonly showNewest: () => void;
  /** Reads the messages around one again, or the newest, without moving them. */
  readonly refresh: (around: string | null) => void;
}

const PAGE_SIZE = 40;

/** The messages of a path, of which only a piece is held. `active` is the session's active leaf. */
export function useConversation({ id, leaf, at, originals }: PathSource, active: string | null): Conversation {
  const activeLeaf = useRef(active);
  activeLeaf.current = active;
  const [piece, setPiece] = useState<Piece | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const present = useRef(piece);
  present.current = piece;
  const underWay = useRef<AbortController | null>(null);

  const load = useCallback(
    async (make: (ask: Ask) => Promise<Piece>) => {
      underWay.current?.abort();
      const abort = new AbortController();
      underWay.current = abort;
      const ask: Ask = (query) => read("messages", { id, leaf, originals, limit: PAGE_SIZE, ...query }, abort.signal);
      try {
        const next = await make(ask);
        if (abort.signal.aborted) return;
        setPiece(next);
        setError(null);
      } catch (fault) {
        if (!abort.signal.aborted) setError(asApiError(fault));
      } finally {
        if (underWay.current === abort) underWay.current = null;
      }
    },
    [id, leaf, originals],
  );

  const path = JSON.stringify([id, leaf, originals]);
  const shownPath = useRef("");
  useEffect(() => {
    const isThere = shownPath.current === path && present.current?.rows.some(({ message }) => message.id === at);
    shownPath.current = path;
    if (isThere) setPiece((piece) => piece && { ...piece, cause: "place" });
    else if (at === null) void load(async (ask) => asPiece(await ask({}), "place"));
    else {
      void load(async (ask) => {
        const page = await ask({ from: at, direction: "around" });
        // A message that is not visible on the path that was asked for is shown where it stands.
        const isElsewhere = page.leafId === at && leaf === null && activeLeaf.current !== at;
        if (isElsewhere || page.originals !== originals) {
          const found = { leaf: isElsewhere ? at : leaf, originals: page.originals };
          shownPath.current = JSON.stringify([id, found.leaf, found.originals]);
          navigate(linkHere(found), { replace: true });
        }
        return asPiece(page, "place");
      });
    }
    return () => underWay.current?.abort();
  }, [path, id, leaf, originals, at, load]);

  const more = useCallback(
    (direction: "older" | "newer") => {
      const piece = present.current;
      if (piece === null || underWay.current !== null) return;
      const end = direction === "older" ? piece.rows[0] : piece.rows.at(-1);
      if (end === undefined || !(direction === "older" ? piece.hasOlder : piece.hasNewer)) return;
      void load(async (ask) => extended(piece, await ask({ from: end.message.id, direction }), direction));
    },
    [load],
  );
  return {
    piece,
    error,
    showOlder: useCallback(() => more("older"), [more]),
    showNewer: useCallback(() => more("newer"), [more]),
    showNewest: useCallback(() => void load(async (ask) => asPiece(await ask({}), "place")), [load]),
    refresh: useCallback(
      (around: string | null) => {
        void load(async (ask) => {
          if (around === null) return asPiece(await ask({}), "more");
          const page = await ask({ from: around, direction: "around", limit: MOST_ROWS / 2 });
          // The message is on another branch by now, so the newest of the shown one are read.
          const isElsewhere = leaf === null && page.leafId === around && activeLeaf.current !== around;
          return isElsewhere ? asPiece(await ask({}), "place") : asPiece(page, "more");
        });
      },
      [load, leaf],
    ),
  };
}

type Ask = (query: { from?: string; direction?: string; limit?: number }) => Promise<MessagePage>;
