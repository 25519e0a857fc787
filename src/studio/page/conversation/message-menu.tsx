import { useState } from "preact/hooks";
import type { MessageRow, SessionView } from "../../api.js";
import { canCopy, copyText } from "../clipboard.js";
import { Menu } from "../components/menu.js";
import { useInfo } from "../info.js";
import { linkHere, linkTo } from "../location.js";
import { MessageDialog, type MessageWrite } from "./message-dialog.js";

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

/** What can be done with a message. */
export function MessageMenu({ row, view, isRaw, toggleRaw, reload }: Props) {
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
