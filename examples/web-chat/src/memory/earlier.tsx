import { Undo2 } from "lucide-react";
import type { ChatBlockVersion } from "stemma/ai-sdk";
import { factsIn } from "../../shared/facts";
import { restoreMemory } from "../api";
import { dayOf, shortTime } from "../times";

const AUTHORS = {
  model: "noted in a chat",
  program: "changed by you",
  learning: "learned from a chat",
  import: "imported",
};

/** What the memory was before each change, and the way back. */
export function Earlier({ versions }: { versions: readonly ChatBlockVersion[] }) {
  const [present, ...earlier] = versions;
  if (present === undefined || earlier.length === 0) return null;
  return (
    <details className="earlier">
      <summary>Earlier versions</summary>
      <ol>
        {versions.map(({ version, writtenAt, author, content }, index) => (
          <li key={version}>
            <span title={factsIn(content).join("\n")}>
              {timeOf(writtenAt)}, {author === null ? "before" : AUTHORS[author]}: {countOf(factsIn(content))}
            </span>
            {index === 0 ? (
              <em>now</em>
            ) : (
              <button type="button" className="icon small" onClick={() => void restoreMemory(version)} title="Restore">
                <Undo2 aria-hidden />
                <span className="unseen">Restore the version of {timeOf(writtenAt)}</span>
              </button>
            )}
          </li>
        ))}
      </ol>
    </details>
  );
}

function countOf({ length }: readonly string[]): string {
  return length === 1 ? "1 fact" : `${length} facts`;
}

function timeOf(iso: string): string {
  return dayOf(iso) === "Yesterday" ? "Yesterday" : shortTime(iso);
}
