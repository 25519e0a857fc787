import { ArrowUpRight, Brain, X } from "lucide-react";
import { useEffect, useRef } from "react";
import { Link } from "wouter";
import { useFacts } from "../api";
import { FactItem } from "./fact-item";
import { idOf, inOrder } from "./facts";
import { useForgetting } from "./use-forgetting";

/** What is remembered of the user and holds, as it changes. */
export function MemoryPanel({ onClose }: { onClose: () => void }) {
  const { data, error } = useFacts();
  const forgetting = useForgetting();
  const known = useRef<Set<string> | null>(null);
  const before = known.current;
  useEffect(() => {
    if (data !== undefined) known.current = new Set(data.map(idOf));
  }, [data]);
  const shown = inOrder(forgetting.withForgotten(data?.filter(({ holds }) => holds) ?? []));
  return (
    <aside className="memory" aria-label="Memory">
      <header>
        <Brain aria-hidden />
        <h2>Memory</h2>
        <button type="button" className="icon only-narrower" onClick={onClose}>
          <X aria-hidden />
          <span className="unseen">Close</span>
        </button>
      </header>
      <p className="hint">What is known about you, in all of your chats.</p>
      {error ? <p className="hint">{error.message}</p> : null}
      {data !== undefined && shown.length === 0 ? (
        <p className="empty">Nothing yet. Say something about yourself, and it is noted here.</p>
      ) : null}
      <ul aria-live="polite">
        {shown.map((fact) => (
          <FactItem
            key={idOf(fact)}
            fact={fact}
            forgetting={forgetting}
            isNew={before !== null && !before.has(idOf(fact))}
          />
        ))}
      </ul>
      <Link href="/memory" className="to-page">
        Open the memory <ArrowUpRight aria-hidden />
      </Link>
    </aside>
  );
}
