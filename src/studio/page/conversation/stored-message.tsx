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
        <Ending metadata={message.metadata} />
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

interface End {
  readonly name: string;
  readonly class: string;
  readonly why: string;
}

/** How an answer ended before its time, by `metadata.interrupted`. */
const ENDS: ReadonlyMap<unknown, End> = new Map([
  ["aborted", { name: "stopped", class: "badge warn", why: "The user stopped this answer" }],
  ["error", { name: "failed", class: "badge bad", why: "This answer failed before its end" }],
  ["killed", { name: "cut off", class: "badge bad", why: "The process that wrote this answer ended" }],
]);

function Ending({ metadata }: Pick<MessageRow["message"], "metadata">) {
  const end = ENDS.get((metadata as { interrupted?: unknown } | null | undefined)?.interrupted);
  return end === undefined ? null : (
    <span class={end.class} title={end.why}>
      {end.name}
    </span>
  );
}

function senderOf({ metadata }: MessageRow["message"]): string | null {
  const name = (metadata as { name?: unknown } | null | undefined)?.name;
  return typeof name === "string" && name !== "" ? name : null;
}
