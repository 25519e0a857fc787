import { useState } from "preact/hooks";
import { write } from "../api-client.js";
import { Dialog } from "../components/dialog.js";
import { Icon } from "../components/icons.js";
import { Time } from "../components/time.js";
import { count } from "../format.js";
import { useInfo } from "../info.js";
import { Covered } from "./covered.js";
import { MessageParts } from "./message-parts.js";
import type { MessageProps } from "./stored-message.js";

/** A summary, which opens to the messages that it stands for. */
export function SummaryCard({ row, view, isShown = false, reload }: MessageProps) {
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
