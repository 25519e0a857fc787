import { toolMilliseconds } from "../../../model/tool-times.js";
import type { HistoryMessage, HistoryMessagePart } from "../../../session.js";
import { Fold } from "../components/fold.js";
import { Json } from "../components/long-text.js";
import { webAddress } from "../markdown/inline.js";
import { Markdown } from "../markdown/markdown.js";
import { MediaPart, stubOf } from "./media-part.js";
import { ToolPart } from "./tool-part.js";

/** What a message holds, part by part. */
export function MessageParts({ sessionId, message }: { readonly sessionId: string; readonly message: HistoryMessage }) {
  if (message.parts.length === 0) return <p class="nothing">No content</p>;
  return (
    <div class="message-parts">
      {message.parts.map((part, position) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place in the message.
        <Part key={position} part={part} sessionId={sessionId} message={message} />
      ))}
    </div>
  );
}

interface Props {
  readonly part: HistoryMessagePart;
  readonly sessionId: string;
  readonly message: HistoryMessage;
}

function Part({ part, sessionId, message }: Props) {
  const type = String(part.type);
  if (type === "step-start") return null;
  if (type === "text") return <Markdown text={part.text ?? ""} />;
  if (type === "reasoning") {
    return (
      <Fold icon="thought" title="Reasoning">
        <Markdown text={part.text ?? part.reasoning ?? ""} />
      </Fold>
    );
  }
  if (type.startsWith("tool-") || type === "dynamic-tool") {
    return <ToolPart part={part} milliseconds={toolMilliseconds(message, part.toolCallId)} />;
  }
  const stub = stubOf(part);
  if (stub !== null) return <MediaPart part={part} stub={stub} sessionId={sessionId} messageId={message.id} />;
  const address = webAddress(String(part.url ?? ""));
  if (address !== null) return <Elsewhere part={part} address={address} />;
  return (
    <Fold icon="code" title={type}>
      <Json value={part} label={`Part ${type}`} />
    </Fold>
  );
}

// What lies on another server is fetched only when somebody follows the link.
function Elsewhere({ part, address }: { readonly part: HistoryMessagePart; readonly address: string }) {
  const name = part.filename ?? part.title ?? address;
  return (
    <p class="elsewhere">
      <span class="badge">{part.mediaType ?? String(part.type)}</span>{" "}
      <a href={address} target="_blank" rel="noopener noreferrer">
        <bdi>{String(name)}</bdi>
      </a>
    </p>
  );
}
