import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { MessageRow, SessionView, StudioWrites } from "../../api.js";
import { useInfo, write } from "../api-client.js";
import { Dialog, Menu } from "../components/dialog.js";
import { Time } from "../components/fact.js";
import { canCopy, copyText, Icon } from "../components/icons.js";
import { Json } from "../components/long-text.js";
import { count } from "../format.js";
import { linkHere, linkTo, navigate } from "../location.js";
import { MessageParts } from "./message-parts.js";
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

interface Props {
  readonly row: MessageRow;
  readonly view: SessionView;
  readonly isRaw: boolean;
  readonly toggleRaw: () => void;
  readonly reload: () => void;
}

const WRITES: readonly { readonly name: MessageWrite; readonly text: string }[] = [
  { name: "select", text: "Make its branch active" },
  { name: "edit", text: "Edit as a sibling…" },
  { name: "fork", text: "Fork from here…" },
  { name: "delete-messages", text: "Delete this message…" },
  { name: "delete-branch", text: "Delete it and all below…" },
];

function MessageMenu({ row, view, isRaw, toggleRaw, reload }: Props) {
  const info = useInfo();
  const [asked, setAsked] = useState<MessageWrite | null>(null);
  const { message } = row;
  const id = view.session.id;
  return (
    <span class="message-menu">
      <button type="button" class="quiet" aria-pressed={isRaw} onClick={toggleRaw}>
        JSON
      </button>
      <Menu label="More of this message" icon="more">
        <a href={linkHere({ at: message.id })}>Link to this message</a>
        <a href={linkTo("/memory", { session: id, message: message.id })}>What was remembered of it</a>
        <a href={linkTo("/context", { id, turn: message.id })}>What was sent for it</a>
        {canCopy && (
          <button type="button" onClick={() => copyText(message.id)}>
            Copy its id
          </button>
        )}
        {info?.canWrite &&
          WRITES.map(({ name, text }) => (
            <button key={name} type="button" onClick={() => setAsked(name)}>
              {text}
            </button>
          ))}
      </Menu>
      {asked && <MessageDialog name={asked} row={row} view={view} reload={reload} close={() => setAsked(null)} />}
    </span>
  );
}

type MessageWrite = keyof StudioWrites & ("select" | "edit" | "fork" | "delete-messages" | "delete-branch");

interface MessageDialogProps {
  readonly name: MessageWrite;
  readonly row: MessageRow;
  readonly view: SessionView;
  readonly reload: () => void;
  readonly close: () => void;
}

/** Asks before a message's session is changed, and changes it. */
function MessageDialog({ name, row, view, reload, close }: MessageDialogProps) {
  const { session } = view;
  const { message } = row;
  const id = session.id;
  const messageId = message.id;
  const question = (
    title: string,
    action: string,
    run: (fields: FormData) => Promise<unknown>,
    text: ComponentChildren,
  ) => (
    <Dialog title={title} action={action} run={run} close={close} isDangerous={name.startsWith("delete")}>
      {text}
    </Dialog>
  );
  // What was shown may be gone, so the page goes on at the active leaf.
  const toActive = () => {
    navigate(linkHere({ leaf: null, at: null }));
    reload();
  };
  switch (name) {
    case "select":
      return question(
        "Make this branch active?",
        "Make active",
        () => write("select", { id, messageId }).then(toActive),
        <p>The next message of the session continues from the newest message below this one.</p>,
      );
    case "edit":
      return question(
        "Edit as a sibling",
        "Save as sibling",
        (fields) => write("edit", { id, messageId, text: String(fields.get("text")) }).then(toActive),
        <label class="field">
          <span>The text is stored beside this message and becomes active. This message stays.</span>
          <textarea name="text" rows={10} defaultValue={textOf(message)} />
        </label>,
      );
    case "fork":
      return question(
        "Fork from here",
        "Fork",
        async (fields) => {
          const fork = await write<"fork", { id: string }>("fork", { id, messageId, name: String(fields.get("name")) });
          navigate(linkTo("/session", { id: fork.id }));
        },
        <label class="field">
          <span>A new session gets all messages up to this one.</span>
          <input name="name" defaultValue={`${session.name || session.id} (fork)`} />
        </label>,
      );
    case "delete-messages":
      return question(
        "Delete this message?",
        "Delete",
        () => write("delete-messages", { id, messageIds: [messageId] }).then(toActive),
        <p>The message is removed for good. What follows it moves to the message before it.</p>,
      );
    default:
      return question(
        "Delete this message and all below it?",
        "Delete all",
        () => write("delete-branch", { id, messageId }).then(toActive),
        <p>The message and every message below it, on all branches, are removed for good.</p>,
      );
  }
}

function textOf({ parts }: MessageRow["message"]): string {
  return parts
    .filter(({ type }) => type === "text")
    .map(({ text }) => text ?? "")
    .join("\n");
}

interface SiblingsProps {
  readonly messageId: string;
  readonly siblings: readonly string[];
}

/** Leads to the messages that stand beside one, each with the newest branch below it. */
function Siblings({ messageId, siblings }: SiblingsProps) {
  const place = siblings.indexOf(messageId);
  if (siblings.length < 2 || place < 0) return null;
  const step = (name: "previous" | "next", sibling: string | undefined) => {
    const icon = <Icon name={name === "previous" ? "left" : "right"} />;
    if (sibling === undefined) return <span class="step is-off">{icon}</span>;
    return (
      <a
        class="step"
        href={linkHere({ leaf: sibling, at: sibling })}
        aria-label={name === "previous" ? "The sibling before" : "The next sibling"}
        data-sibling={name}
      >
        {icon}
      </a>
    );
  };
  return (
    <span class="siblings">
      {step("previous", siblings[place - 1])}
      <span title="Which of the messages that stand in this place">
        {count(place + 1)}/{count(siblings.length)}
      </span>
      {step("next", siblings[place + 1])}
    </span>
  );
}
