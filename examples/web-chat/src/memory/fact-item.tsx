import { Pencil, X } from "lucide-react";
import { useState } from "react";
import type { ChatFact } from "stemma/ai-sdk";
import { EditFact } from "./edit-fact";
import { spanOf } from "./facts";
import { Forgotten } from "./forgotten";
import type { Forgetting } from "./use-forgetting";
import { Versions } from "./versions";
import { Why } from "./why";

interface FactItemProps {
  fact: ChatFact;
  forgetting: Forgetting;
  /** It came while the page was open. */
  isNew?: boolean;
  /** It can be edited, and shows its versions. */
  isWhole?: boolean;
}

/** A fact: what it says and since when, why it is known, and the way to change or forget it. Its text is never HTML. */
export function FactItem({ fact, forgetting, isNew = false, isWhole = false }: FactItemProps) {
  const [isEdited, setEdited] = useState<boolean | null>(null);
  const [failure, setFailure] = useState("");
  const tell = (error: Error) => setFailure(error.message);
  if (forgetting.isForgotten(fact)) return <Forgotten fact={fact} undo={() => forgetting.undo(fact)} />;
  if (isEdited) return <EditFact fact={fact} onClose={() => setEdited(false)} />;
  const span = spanOf(fact);
  return (
    <li className="fact" data-new={isNew} data-holds={fact.holds}>
      <p>
        <span>{fact.content}</span>
        {span === "" ? null : <time>{span}</time>}
      </p>
      <div className="fact-actions">
        {isWhole ? (
          <button
            type="button"
            className="icon small"
            onClick={() => setEdited(true)}
            title="Edit"
            // biome-ignore lint/a11y/noAutofocus: whoever closes the form goes on where it was opened.
            autoFocus={isEdited === false}
          >
            <Pencil aria-hidden />
            <span className="unseen">Edit “{fact.content}”</span>
          </button>
        ) : null}
        <button
          type="button"
          className="icon small"
          onClick={() => forgetting.forget(fact).catch(tell)}
          title="Forget this"
          // biome-ignore lint/a11y/noAutofocus: whoever undoes it goes on at the same place.
          autoFocus={forgetting.isBack(fact)}
        >
          <X aria-hidden />
          <span className="unseen">Forget “{fact.content}”</span>
        </button>
      </div>
      {failure === "" ? null : <p role="alert">{failure}</p>}
      <div className="fact-more">
        <Why fact={fact} />
        {isWhole ? <Versions fact={fact} /> : null}
      </div>
    </li>
  );
}
