import type { MessageRow, SessionView } from "../../api.js";
import { read } from "../api-client.js";
import { Failure } from "../components/failure.js";
import { count, counted } from "../format.js";
import { usePages } from "../hooks/use-pages.js";
import { StoredMessage } from "./stored-message.js";

const PAGE_SIZE = 40;

interface Props {
  readonly compactionId: string;
  readonly summaryTokens: number;
  readonly view: SessionView;
  readonly reload: () => void;
}

/** The messages beneath a summary, and how much it saves. */
export function Covered({ compactionId, summaryTokens, view, reload }: Props) {
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
