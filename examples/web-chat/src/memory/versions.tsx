import { Undo2 } from "lucide-react";
import { useState } from "react";
import type { ChatFact, ChatFactVersion } from "stemma/ai-sdk";
import { restoreFact, useFactHistory } from "../api";
import { dayOf, shortTime } from "../times";

const AUTHORS = {
  model: "changed in a chat",
  program: "changed by you",
  learning: "learned from a chat",
  import: "imported",
};

/** What a fact said before each change, and the way back. */
export function Versions({ fact }: { fact: ChatFact }) {
  const [isOpen, setOpen] = useState(false);
  const { data, error } = useFactHistory(fact, isOpen);
  const [failure, setFailure] = useState("");
  const restore = ({ version }: ChatFactVersion) =>
    restoreFact(fact, version).then(
      () => setFailure(""),
      (reason: Error) => setFailure(reason.message),
    );
  return (
    <details className="versions" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Versions</summary>
      {error || failure !== "" ? <p role="alert">{error?.message ?? failure}</p> : null}
      <ol>
        {data?.versions.map((each, index) => (
          <li key={each.version}>
            <span>
              {each.content ?? <em>forgotten</em>}
              <small>
                {timeOf(each.writtenAt)}, {each.author === null ? "before" : AUTHORS[each.author]}
              </small>
            </span>
            {index === 0 ? (
              <em>now</em>
            ) : each.content === null ? null : (
              <button type="button" className="icon small" onClick={() => void restore(each)} title="Restore">
                <Undo2 aria-hidden />
                <span className="unseen">Restore “{each.content}”</span>
              </button>
            )}
          </li>
        ))}
      </ol>
    </details>
  );
}

function timeOf(iso: string): string {
  const day = dayOf(iso);
  return day === "Today" ? `today at ${shortTime(iso)}` : day === "Yesterday" ? "yesterday" : day;
}
