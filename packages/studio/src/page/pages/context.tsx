import type { TurnRow } from "../../api.js";
import { read } from "../api-client.js";
import { Time } from "../components/fact.js";
import { Empty, Failure, Loading } from "../components/failure.js";
import { SessionPageHead } from "../components/session-head.js";
import { VirtualList } from "../components/virtual-list.js";
import { BREAK_NAMES, ContextDetail } from "../context/context-detail.js";
import { count } from "../format.js";
import { useChange, useReloadOn } from "../hooks/use-change.js";
import { usePages, useResource } from "../hooks/use-resource.js";
import { linkTo } from "../location.js";
import type { Place } from "../router.js";

/** The page of each turn's request, and of the next one. */
export function ContextPage({ place }: { readonly place: Place }) {
  const id = place.query.get("id") ?? "";
  const turn = place.query.get("turn");
  const session = useResource("session", { id });
  const change = session.data?.change ?? null;
  useChange(id, change, session.reload);
  const context = useResource("context", { id, turn });
  useReloadOn(change, context.reload);
  return (
    <div class="page context-page">
      <SessionPageHead id={id} here={place.path} />
      <div class="context-body">
        <TurnListPanel id={id} turn={turn} change={change} />
        <div class="context-main">
          {context.error && <Failure error={context.error} retry={context.reload} />}
          {!context.data && !context.error && <Loading />}
          {context.data && <ContextDetail id={id} turn={turn} view={context.data} />}
          {context.data && context.data.explanation === null && turn !== null && (
            <Empty title="Nothing is kept of this turn.">
              Requests are recorded when the program prepares them with <code>session.prepareTurn()</code>.
            </Empty>
          )}
        </div>
      </div>
    </div>
  );
}

const PAGE_SIZE = 100;
const ROW_HEIGHT = 46;

interface Props {
  readonly id: string;
  readonly turn: string | null;
  readonly change: string | null;
}

/** The requests of which something is kept, newest first, below the next one. */
function TurnListPanel({ id, turn, change }: Props) {
  const turns = usePages<TurnRow>(id, async (after, signal) => {
    const page = await read("turns", { id, after, limit: PAGE_SIZE }, signal);
    return { items: page.turns, next: page.next };
  });
  const { reload } = turns;
  useReloadOn(change, reload);
  return (
    <aside class="turn-list" aria-label="Turns">
      <a class="turn-row" href={linkTo("/context", { id })} aria-current={turn === null ? "true" : undefined}>
        <strong>Next request</strong>
        <span class="quiet-number">as it would be sent now</span>
      </a>
      <VirtualList
        items={turns.items}
        rowHeight={ROW_HEIGHT}
        label="Turns, newest first"
        keyOf={({ messageId, sentAt }) => `${messageId} ${sentAt}`}
        onEnd={turns.error ? undefined : turns.more}
        row={(row) => <Turn id={id} row={row} isShown={row.messageId === turn && turn !== null} />}
        footer={
          <>
            {turns.error && <Failure error={turns.error} retry={turns.items.length === 0 ? reload : turns.more} />}
            {turns.isLoading && <Loading />}
            {turns.isComplete && turns.items.length === 0 && <p class="nothing">No request was recorded yet.</p>}
          </>
        }
      />
    </aside>
  );
}

function Turn({ id, row, isShown }: { readonly id: string; readonly row: TurnRow; readonly isShown: boolean }) {
  return (
    <a
      class="turn-row"
      href={linkTo("/context", { id, turn: row.messageId })}
      aria-current={isShown ? "true" : undefined}
      data-item
    >
      <span class="turn-line">
        <Time at={row.sentAt} />
        <span class="number">{count(row.tokens)} tok</span>
      </span>
      <span class="turn-line">
        <code>{row.prefixHash.slice(0, 10)}</code>
        {row.brokenAt && <span class="badge warn">{BREAK_NAMES[row.brokenAt.by]}</span>}
      </span>
    </a>
  );
}
