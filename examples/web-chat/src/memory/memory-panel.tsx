import { Brain, X } from "lucide-react";
import { useEffect, useRef } from "react";
import { useMemory } from "../api";
import { Earlier } from "./earlier";
import { FactItem } from "./fact-item";
import { factsOf, memoryIn } from "./memory";

/** What is remembered of the user, as it changes. */
export function MemoryPanel({ chatId, onClose }: { chatId: string; onClose: () => void }) {
  const { data, error } = useMemory(chatId);
  const known = useRef<Set<string> | null>(null);
  const block = memoryIn(data);
  const facts = factsOf(block);
  const before = known.current;
  useEffect(() => {
    if (data !== undefined) known.current = new Set(factsOf(memoryIn(data)).map(({ text }) => text));
  }, [data]);
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
      {data !== undefined && facts.length === 0 ? (
        <p className="empty">Nothing yet. Say something about yourself, and it is noted here.</p>
      ) : null}
      <ul aria-live="polite">
        {facts.map((fact) => (
          <FactItem key={fact.text} fact={fact} isNew={before !== null && !before.has(fact.text)} />
        ))}
      </ul>
      <Earlier versions={block?.versions ?? []} />
    </aside>
  );
}
