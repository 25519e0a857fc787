import { isToolUIPart } from "ai";
import { Check, Copy, RefreshCw, RotateCw } from "lucide-react";
import { useState } from "react";
import { Markdown } from "./markdown";
import { interruptionOf, type MessageProps, textOf } from "./message-props";
import { Switch } from "./switch";
import { ToolNote } from "./tool-note";
import { Thinking } from "./transcript";

/** An answer of the model: its text, what its tools did, and what can be done with it. */
export function Answer(props: MessageProps) {
  const { chat, message, isMarked, isLast, own } = props;
  const isBusy = chat.status === "submitted" || chat.status === "streaming";
  const isWritten = isLast && isBusy;
  const interruption = isWritten ? null : interruptionOf(message);
  const isEmpty = textOf(message) === "";
  const again = () => own(chat.regenerate({ messageId: message.id }));
  return (
    <article className="answer" id={message.id} data-marked={isMarked} aria-label="Answer">
      {message.parts.map((part, index) => {
        // biome-ignore-start lint/suspicious/noArrayIndexKey: parts are only added, at the end.
        if (part.type === "text") return <Markdown key={index} text={part.text} />;
        if (part.type === "reasoning") return <Reasoning key={index} text={part.text} />;
        if (isToolUIPart(part)) return <ToolNote key={part.toolCallId} part={part} />;
        // biome-ignore-end lint/suspicious/noArrayIndexKey: parts are only added, at the end.
        return null;
      })}
      {isWritten && isEmpty && chat.status === "streaming" ? <Thinking /> : null}
      {interruption === "aborted" ? <p className="cut">You stopped this answer.</p> : null}
      {interruption === "killed" || interruption === "error" ? (
        <p className="cut">
          This answer was cut off.
          <button type="button" onClick={again} disabled={isBusy}>
            <RotateCw aria-hidden /> Continue
          </button>
        </p>
      ) : null}
      {isWritten ? null : (
        <div className="actions">
          <Switch {...props} />
          <CopyButton text={textOf(message)} />
          <button type="button" className="icon small" disabled={isBusy} onClick={again} title="Answer again">
            <RefreshCw aria-hidden />
            <span className="unseen">Answer again</span>
          </button>
        </div>
      )}
    </article>
  );
}

function Reasoning({ text }: { text: string }) {
  if (text.trim() === "") return null;
  return (
    <details className="reasoning">
      <summary>Thoughts</summary>
      <Markdown text={text} />
    </details>
  );
}

function CopyButton({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button type="button" className="icon small" onClick={() => void copy()} title="Copy">
      {isCopied ? <Check aria-hidden /> : <Copy aria-hidden />}
      <span className="unseen">Copy</span>
    </button>
  );
}
