import { Undo2 } from "lucide-react";
import { useState } from "react";
import type { ChatFact } from "stemma/ai-sdk";

/** Stands in the place of a fact that was just forgotten. */
export function Forgotten({ fact, undo }: { fact: ChatFact; undo: () => Promise<void> }) {
  const [failure, setFailure] = useState("");
  return (
    <li className="fact forgotten">
      <p role="status">
        Forgotten: <s>{fact.content}</s>
      </p>
      {/* biome-ignore lint/a11y/noAutofocus: the button that was pressed stood here. */}
      <button type="button" onClick={() => undo().catch((error: Error) => setFailure(error.message))} autoFocus>
        <Undo2 aria-hidden /> Undo
      </button>
      {failure === "" ? null : <p role="alert">{failure}</p>}
    </li>
  );
}
