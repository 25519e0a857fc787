import { ChevronDown } from "lucide-react";
import { Markdown } from "./markdown";
import type { Line } from "./summaries";

/** Where what the model reads as a summary ends. It opens. */
export function SummaryLine({ summary, count }: Line) {
  const what =
    count === null
      ? "The messages above are"
      : count === 1
        ? "The message above is"
        : `The ${count} messages above are`;
  return (
    <details className="summary-line">
      <summary>
        <span>
          {what} summarised for the model
          <ChevronDown aria-hidden />
        </span>
      </summary>
      <div className="summary">
        <p>This is what the model reads in their place. They are all still here.</p>
        <Markdown text={summary} />
      </div>
    </details>
  );
}
