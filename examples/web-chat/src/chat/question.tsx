import { Pencil } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useState } from "react";
import { GrowingText } from "./growing-text";
import { type MessageProps, textOf } from "./message-props";
import { Switch } from "./switch";

/** A message of the user, which can be asked in another way: the old one stays beside it. */
export function Question(props: MessageProps) {
  const { chat, message, isMarked, own } = props;
  const [draft, setDraft] = useState<string | null>(null);
  const isBusy = chat.status === "submitted" || chat.status === "streaming";
  const text = textOf(message);

  const save = (event?: FormEvent) => {
    event?.preventDefault();
    const edited = draft?.trim() ?? "";
    if (edited === "" || isBusy) return;
    setDraft(null);
    if (edited !== text) own(chat.edit(message.id, edited));
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      setDraft(null);
    } else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      save();
    }
  };

  if (draft !== null) {
    return (
      <form className="question editing" onSubmit={save}>
        <GrowingText value={draft} onChange={setDraft} onKeyDown={press} label="Edit the message" isFocused />
        <p className="editing-actions">
          <button type="button" onClick={() => setDraft(null)}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={isBusy || draft.trim() === ""}>
            Ask
          </button>
        </p>
      </form>
    );
  }
  return (
    <article className="question" id={message.id} data-marked={isMarked} aria-label="You">
      <p className="bubble">{text}</p>
      <div className="actions">
        <Switch {...props} />
        <button type="button" className="icon small" disabled={isBusy} onClick={() => setDraft(text)} title="Edit">
          <Pencil aria-hidden />
          <span className="unseen">Edit</span>
        </button>
      </div>
    </article>
  );
}
