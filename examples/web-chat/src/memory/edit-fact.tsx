import { type FormEvent, type KeyboardEvent, useState } from "react";
import type { ChatFact } from "stemma/ai-sdk";
import { changeFact } from "../api";
import { GrowingText } from "../chat/growing-text";

const dayIn = (iso: string | null) => iso?.slice(0, 10) ?? "";

/** Changes a fact in its place. What somebody else wrote meanwhile stays. */
export function EditFact({ fact, onClose }: { fact: ChatFact; onClose: () => void }) {
  const [content, setContent] = useState(fact.content);
  const [from, setFrom] = useState(dayIn(fact.validFrom));
  const [to, setTo] = useState(dayIn(fact.validTo));
  const [failure, setFailure] = useState("");
  const save = (event?: FormEvent) => {
    event?.preventDefault();
    if (content.trim() === "") return;
    const change = {
      content: content.trim(),
      // A time of the day that is stored stays.
      ...(from === dayIn(fact.validFrom) ? {} : { validFrom: from || null }),
      ...(to === dayIn(fact.validTo) ? {} : { validTo: to || null }),
    };
    changeFact(fact, change).then(onClose, (error: Error) => setFailure(error.message));
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") onClose();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    save();
  };
  return (
    <li className="fact editing">
      <form onSubmit={save}>
        <GrowingText value={content} onChange={setContent} onKeyDown={press} label="What is remembered" isFocused />
        <label>
          Since
          <input type="date" value={from} max={to || undefined} onChange={(event) => setFrom(event.target.value)} />
        </label>
        <label>
          Until
          <input type="date" value={to} min={from || undefined} onChange={(event) => setTo(event.target.value)} />
        </label>
        <div className="editing-actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={content.trim() === ""}>
            Save
          </button>
        </div>
        {failure === "" ? null : <p role="alert">{failure}</p>}
      </form>
    </li>
  );
}
