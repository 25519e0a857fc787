import { Undo2 } from "lucide-react";
import type { Version } from "../../shared/api";
import { restoreMemory } from "../api";
import { dayOf, shortTime } from "../times";

const AUTHORS = {
  model: "noted in a chat",
  program: "changed by you",
  learning: "learned from a chat",
  import: "imported",
};

/** What the memory was before each change, and the way back. */
export function Earlier({ versions }: { versions: readonly Version[] }) {
  const [present, ...earlier] = versions;
  if (present === undefined || earlier.length === 0) return null;
  return (
    <details className="earlier">
      <summary>Earlier versions</summary>
      <ol>
        {versions.map(({ version, writtenAt, author, facts }, index) => (
          <li key={version}>
            <span title={facts.join("\n")}>
              {timeOf(writtenAt)}, {author === null ? "before" : AUTHORS[author]}:{" "}
              {facts.length === 1 ? "1 fact" : `${facts.length} facts`}
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

function timeOf(iso: string): string {
  return dayOf(iso) === "Yesterday" ? "Yesterday" : shortTime(iso);
}
