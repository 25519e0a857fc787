import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { MessageRow, SessionView } from "../../api.js";
import { read, useInfo, write } from "../api-client.js";
import { Dialog } from "../components/dialog.js";
import { Time } from "../components/fact.js";
import { Empty, Failure, Loading } from "../components/failure.js";
import { Icon } from "../components/icons.js";
import { count, counted } from "../format.js";
import { usePages } from "../hooks/use-resource.js";
import { linkHere, navigate } from "../location.js";
import { MessageParts } from "./message-parts.js";
import { type MessageProps, StoredMessage } from "./stored-message.js";
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

/** A message, and how far its top is from the top of what scrolls. */
interface Anchor {
  readonly id: string;
  readonly top: number;
}

const END_PX = 40;

/** The first message in view. */
function anchorIn(scroller: HTMLElement): Anchor | null {
  const edge = scroller.getBoundingClientRect().top;
  for (const element of messagesIn(scroller)) {
    const { top, bottom } = element.getBoundingClientRect();
    if (bottom > edge) return { id: element.dataset.message ?? "", top: top - edge };
  }
  return null;
}

/** Scrolls so that the message stands where it stood. */
function restore(scroller: HTMLElement, anchor: Anchor | null): void {
  if (anchor === null) return;
  for (const element of messagesIn(scroller)) {
    if (element.dataset.message !== anchor.id) continue;
    const top = element.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    scroller.scrollTop += top - anchor.top;
    return;
  }
}

function isAtEnd(scroller: HTMLElement): boolean {
  return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < END_PX;
}

function messagesIn(scroller: HTMLElement): NodeListOf<HTMLElement> {
  return scroller.querySelectorAll<HTMLElement>(".messages > [data-message]");
}

/** One message, or the summary that stands for some. */
function Message(props: MessageProps) {
  return props.row.compactionId === null ? <StoredMessage {...props} /> : <SummaryCard {...props} />;
}

/** A summary, which opens to the messages that it stands for. */
function SummaryCard({ row, view, isShown = false, reload }: MessageProps) {
  const { message, tokens } = row;
  const compactionId = row.compactionId ?? "";
  const info = useInfo();
  const [isOpen, setOpen] = useState(false);
  const [isTakingBack, setTakingBack] = useState(false);
  const compaction = view.compactions.find((each) => each.id === compactionId);
  return (
    <article
      class={`message summary ${isShown ? "is-shown" : ""}`}
      data-message={message.id}
      data-item
      tabIndex={-1}
      aria-label="Summary"
    >
      <header class="message-head">
        <span class="role">
          <Icon name="summary" /> Summary
        </span>
        {compaction && <Time at={compaction.createdAt} />}
        <span class="tokens" title="Estimated tokens">
          {count(tokens)} tok
        </span>
        <span class="spacer" />
        {info?.canWrite && (
          <button type="button" class="quiet" onClick={() => setTakingBack(true)}>
            Take back
          </button>
        )}
      </header>
      <MessageParts sessionId={view.session.id} message={message} />
      <button type="button" class="open-summary" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? "down" : "right"} />
        {isOpen ? "Hide the messages beneath" : "Show the messages beneath"}
      </button>
      {isOpen && <Covered compactionId={compactionId} summaryTokens={tokens} view={view} reload={reload} />}
      {isTakingBack && (
        <Dialog
          title="Take this summary back?"
          action="Take back"
          run={() => write("uncompact", { id: view.session.id, compactionId }).then(reload)}
          close={() => setTakingBack(false)}
        >
          <p>The model sees the messages beneath again, or the older summaries of them. Nothing stored is lost.</p>
        </Dialog>
      )}
    </article>
  );
}

const PAGE_SIZE = 40;

interface ShownMessageProps {
  readonly compactionId: string;
  readonly summaryTokens: number;
  readonly view: SessionView;
  readonly reload: () => void;
}

/** The messages beneath a summary, and how much it saves. */
function Covered({ compactionId, summaryTokens, view, reload }: ShownMessageProps) {
  const id = view.session.id;
  // The newest come first; the pages before them are read on demand.
  const pages = usePages<MessageRow>(compactionId, async (from, signal) => {
    const query = from === null ? {} : { from, direction: "older" };
    const page = await read("messages", { id, compaction: compactionId, limit: PAGE_SIZE, ...query }, signal);
    const items = [...page.messages].reverse();
    return { items, next: page.hasOlder ? (items.at(-1)?.message.id ?? null) : null };
  });
  const rows = [...pages.items].reverse();
  const tokens = rows.reduce((sum, row) => sum + row.tokens, 0);
  return (
    <div class="covered">
      {pages.error && <Failure error={pages.error} retry={rows.length === 0 ? pages.reload : pages.more} />}
      {pages.isComplete && (
        <p class="edge">
          {counted(rows.length, "message")}, {count(tokens)} tokens, for which the model reads {count(summaryTokens)}.
        </p>
      )}
      {!pages.isComplete && rows.length > 0 && (
        <button type="button" onClick={pages.more}>
          Show older messages
        </button>
      )}
      {rows.map((row) => (
        <StoredMessage key={row.message.id} row={row} view={view} reload={reload} />
      ))}
    </div>
  );
}
