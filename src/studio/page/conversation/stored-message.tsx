import { useState } from "preact/hooks";
import type { MessageRow, SessionView } from "../../api.js";
import { Json } from "../components/long-text.js";
import { Time } from "../components/time.js";
import { count } from "../format.js";
import { MessageMenu } from "./message-menu.js";
import { MessageParts } from "./message-parts.js";
import { Siblings } from "./siblings.js";

export interface MessageProps {
  readonly row: MessageRow;
  readonly view: SessionView;
  /** The address names it. */
  readonly isShown?: boolean;
  readonly reload: () => void;
}

/** One message as it is stored. */
export function StoredMessage({ row, view, isShown = false, reload }: MessageProps) {
  const { message, tokens, siblings } = row;
  const [isRaw, setRaw] = useState(false);
  const id = view.session.id;
  const role = String(message.role);
  return (
    <article
      class={`message role-${ROLES.has(role) ? role : "other"} ${isShown ? "is-shown" : ""}`}
      data-message={message.id}
      data-item
      tabIndex={-1}
      aria-label={`Message of ${role}`}
    >
      <header class="message-head">
        <bdi class="role">{senderOf(message) ?? role}</bdi>
        {message.createdAt !== undefined && <Time at={message.createdAt} />}
        <span class="tokens" title="Estimated tokens">
          {count(tokens)} tok
        </span>
        <Siblings messageId={message.id} siblings={siblings} />
        <MessageMenu row={row} view={view} isRaw={isRaw} toggleRaw={() => setRaw(!isRaw)} reload={reload} />
      </header>
      {isRaw ? <Json value={message} label="The message as JSON" /> : <MessageParts sessionId={id} message={message} />}
    </article>
  );
}

const ROLES: ReadonlySet<string> = new Set(["user", "assistant", "system", "tool"]);

function senderOf({ metadata }: MessageRow["message"]): string | null {
  const name = (metadata as { name?: unknown } | null | undefined)?.name;
  return typeof name === "string" && name !== "" ? name : null;
}
