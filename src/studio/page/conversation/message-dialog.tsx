import type { ComponentChildren } from "preact";
import type { MessageRow, SessionView, StudioWrites } from "../../api.js";
import { write } from "../api-client.js";
import { Dialog } from "../components/dialog.js";
import { linkHere, linkTo, navigate } from "../location.js";

export type MessageWrite = keyof StudioWrites & ("select" | "edit" | "fork" | "delete-messages" | "delete-branch");

interface Props {
  readonly name: MessageWrite;
  readonly row: MessageRow;
  readonly view: SessionView;
  readonly reload: () => void;
  readonly close: () => void;
}

/** Asks before a message's session is changed, and changes it. */
export function MessageDialog({ name, row, view, reload, close }: Props) {
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
