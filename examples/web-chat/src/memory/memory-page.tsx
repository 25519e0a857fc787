import { ArrowLeft, Download } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";
import { EXPORT, useFacts } from "../api";
import { FactItem } from "./fact-item";
import { bySubject, idOf, type Subject } from "./facts";
import { type Forgetting, useForgetting } from "./use-forgetting";

interface MemoryPageProps {
  left: ReactNode;
  /** The path of the chat that was shown before. */
  back: string;
}

/** All that is remembered of the user, by what it is about: to read, to change and to forget. */
export function MemoryPage({ left, back }: MemoryPageProps) {
  const { data, error } = useFacts();
  const forgetting = useForgetting();
  useEffect(() => {
    document.title = "Memory · Stemma";
  }, []);
  const subjects = bySubject(forgetting.withForgotten(data ?? []));
  return (
    <main className="memory-page">
      <header>
        {left}
        <Link href={back} className="icon" title="Back to the chat">
          <ArrowLeft aria-hidden />
          <span className="unseen">Back to the chat</span>
        </Link>
        <h1>Memory</h1>
        <a href={EXPORT} className="button" download>
          <Download aria-hidden /> Export
        </a>
      </header>
      <div className="subjects">
        <p className="hint">What is known about you, in all of your chats. Nobody else sees it.</p>
        {error ? <p role="alert">{error.message}</p> : null}
        {data !== undefined && subjects.length === 0 ? (
          <p className="empty">Nothing yet. Say something about yourself in a chat, and it is noted here.</p>
        ) : null}
        {subjects.map((subject) => (
          <SubjectFacts key={subject.name} subject={subject} forgetting={forgetting} />
        ))}
      </div>
    </main>
  );
}

function SubjectFacts({ subject, forgetting }: { subject: Subject; forgetting: Forgetting }) {
  const { name, present, others } = subject;
  const item = (fact: Subject["present"][number]) => (
    <FactItem key={idOf(fact)} fact={fact} forgetting={forgetting} isWhole />
  );
  return (
    <section aria-label={name}>
      <h2>{name}</h2>
      <ul>{present.map(item)}</ul>
      {others.length === 0 ? null : (
        <details className="others">
          <summary>
            {others.length === 1 ? "1 fact that does not hold now" : `${others.length} facts that do not hold now`}
          </summary>
          <ul>{others.map(item)}</ul>
        </details>
      )}
    </section>
  );
}
