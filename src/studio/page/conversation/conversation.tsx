import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SessionView } from "../../api.js";
import { Empty } from "../components/empty.js";
import { Failure } from "../components/failure.js";
import { Icon } from "../components/icons.js";
import { Loading } from "../components/loading.js";
import { linkHere, navigate } from "../location.js";
import { Message } from "./message.js";
import { type Anchor, anchorIn, isAtEnd, restore } from "./scroll-place.js";
import { type PathSource, useConversation } from "./use-conversation.js";

const NEAR_PX = 1500;

interface Props extends PathSource {
  readonly view: SessionView;
  readonly reload: () => void;
}

/** The messages of a path. It opens at the newest, or at the message that the address names. */
export function Conversation({ view, reload, ...source }: Props) {
  const { at } = source;
  const scroller = useRef<HTMLDivElement>(null);
  const isPinned = useRef(true);
  const [isAway, setAway] = useState(false);
  const { piece, error, showOlder, showNewer, showNewest, refresh } = useConversation(source, view.leafId);

  // Where the messages stand is measured while those before are still drawn.
  const drawn = useRef(piece);
  const anchor = useRef<Anchor | null>(null);
  if (drawn.current !== piece) {
    anchor.current = scroller.current && anchorIn(scroller.current);
    drawn.current = piece;
  }
  const look = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    isPinned.current = isAtEnd(element);
    setAway(!isPinned.current);
    if (element.scrollTop < NEAR_PX) showOlder();
    if (element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX) showNewer();
  }, [showOlder, showNewer]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null || piece === null) return;
    const target =
      piece.cause === "place" && at !== null ? element.querySelector(`[data-message="${CSS.escape(at)}"]`) : null;
    if (target !== null) target.scrollIntoView({ block: "start" });
    else if (piece.cause === "place" || (isPinned.current && !piece.hasNewer)) element.scrollTop = element.scrollHeight;
    else restore(element, anchor.current);
    look();
  }, [piece, at, look]);

  const shownChange = useRef(view.change);
  useLayoutEffect(() => {
    if (shownChange.current === view.change) return;
    shownChange.current = view.change;
    const element = scroller.current;
    refresh(isPinned.current || element === null ? null : (anchorIn(element)?.id ?? null));
  }, [view.change, refresh]);

  const toNewest = () => {
    if (at === null) showNewest();
    else navigate(linkHere({ at: null }));
  };
  return (
    <div class="conversation">
      <div class="conversation-scroller" ref={scroller} onScroll={look}>
        <div class="messages" data-items>
          {error && <Failure error={error} retry={showNewest} />}
          {piece === null && error === null && <Loading />}
          {piece?.hasOlder && <p class="edge">Loading older messages…</p>}
          {piece && !piece.hasOlder && piece.rows.length > 0 && <p class="edge">The conversation begins here.</p>}
          {piece?.rows.map((row) => (
            <Message key={row.message.id} row={row} view={view} isShown={row.message.id === at} reload={reload} />
          ))}
          {piece?.hasNewer && <p class="edge">Loading newer messages…</p>}
          {piece?.rows.length === 0 && (
            <Empty title="This session has no messages yet.">They appear here as soon as they are stored.</Empty>
          )}
        </div>
      </div>
      {piece !== null && (isAway || piece.hasNewer) && (
        <button type="button" class="to-newest" onClick={toNewest}>
          <Icon name="down" /> Newest
        </button>
      )}
    </div>
  );
}
