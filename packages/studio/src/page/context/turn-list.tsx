import type { TurnRow } from "../../api.js";
import { read } from "../api-client.js";
import { Time } from "../components/fact.js";
import { Failure, Loading } from "../components/failure.js";
import { VirtualList } from "../components/virtual-list.js";
import { count } from "../format.js";
import { useReloadOn } from "../hooks/use-change.js";
import { usePages } from "../hooks/use-pages.js";
import { linkTo } from "../location.js";
import { BREAK_NAMES } from "./words.js";

const PAGE_SIZE = 100;
const ROW_HEIGHT = 46;

interface Props {
  readonly id: string;
  readonly turn: string | null;
  readonly change: string | null;
}

/** The requests of which something is kept, newest first, below the next one. */
export function TurnListPanel({ id, turn, change }: Props) {
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
