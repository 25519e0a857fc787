import { formatDuration } from "../../../model/tool-times.js";
import type { HistoryMessagePart } from "../../../session.js";
import { Fold } from "../components/fold.js";
import { Json } from "../components/long-text.js";

const STATES: Readonly<Record<string, { readonly name: string; readonly class: string }>> = {
  "input-streaming": { name: "being written", class: "badge" },
  "input-available": { name: "no answer", class: "badge" },
  "approval-requested": { name: "waits for approval", class: "badge warn" },
  "approval-responded": { name: "approval answered", class: "badge" },
  "output-available": { name: "done", class: "badge good" },
  "output-error": { name: "failed", class: "badge bad" },
  "output-denied": { name: "denied", class: "badge warn" },
};

interface Props {
  readonly part: HistoryMessagePart;
  /** How long it took; null where that is not known. */
  readonly milliseconds: number | null;
}

/** A tool call with its input, output and time, folded. */
export function ToolPart({ part, milliseconds }: Props) {
  const type = String(part.type);
  const name = part.toolName ?? type.replace(/^tool-/, "");
  const state = STATES[part.state ?? ""];
  const input = part.input ?? part.rawInput;
  const output = part.output ?? part.result;
  const title = (
    <>
      <strong>{name}</strong>
      <span class="preview">{previewOf(input)}</span>
    </>
  );
  const aside = (
    <>
      {milliseconds !== null && (
        <span class="took" title="From the call to its result">
          {formatDuration(milliseconds)}
        </span>
      )}
      {(state || part.state) && <span class={state?.class ?? "badge"}>{state?.name ?? part.state}</span>}
    </>
  );
  return (
    <Fold icon="tool" title={title} aside={aside}>
      {part.toolCallId && (
        <p class="call-id">
          Call <code>{part.toolCallId}</code>
        </p>
      )}
      <p class="label">Input</p>
      {input === undefined ? <p class="nothing">None</p> : <Json value={input} label={`Input of ${name}`} />}
      {part.errorText !== undefined && (
        <>
          <p class="label">Error</p>
          <Json value={part.errorText} label={`Error of ${name}`} />
        </>
      )}
      {output !== undefined && (
        <>
          <p class="label">Output</p>
          <Json value={output} label={`Output of ${name}`} />
        </>
      )}
    </Fold>
  );
}

// Fields in short, until there are enough for a line: the whole input may be of any size.
function previewOf(input: unknown): string {
  if (typeof input === "string") return input.slice(0, 80);
  if (typeof input !== "object" || input === null) return "";
  let text = "";
  for (const [key, value] of Object.entries(input)) {
    const shown = typeof value === "object" && value !== null ? "…" : String(value).slice(0, 60);
    text += `${text === "" ? "" : ", "}${key.slice(0, 30)}: ${shown}`;
    if (text.length > 80) break;
  }
  return text;
}
