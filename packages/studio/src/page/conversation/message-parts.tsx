import type { HistoryMessage, HistoryMessagePart } from "@stemma/model";
import { formatDuration, toolMilliseconds } from "@stemma/model";
import { useState } from "preact/hooks";
import type { MediaStub } from "../../api.js";
import { apiAddress } from "../api-client.js";
import { Icon } from "../components/icons.js";
import { Fold, Json } from "../components/long-text.js";
import { bytes } from "../format.js";
import { Markdown } from "../markdown/markdown.js";
import { webAddress } from "../markdown/parse-markdown.js";
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

type Media = MediaStub["$media"];

/** The medium of a part, where the server put its size in the place of the data. */
function stubOf(part: HistoryMessagePart): Media | null {
  for (const value of [part.url, part.data, part.image]) {
    const stub = (value as Partial<MediaStub> | null | undefined)?.$media;
    if (typeof stub === "object" && stub !== null && typeof stub.path === "string") return stub;
  }
  return null;
}

const KINDS = ["image", "audio", "video"] as const;

interface MediaPartProps {
  readonly part: HistoryMessagePart;
  readonly stub: Media;
  readonly sessionId: string;
  readonly messageId: string;
}

/** A medium with its type and size. An image, sound or video is loaded when somebody asks for it. */
function MediaPart({ part, stub, sessionId, messageId }: MediaPartProps) {
  const [isShown, setShown] = useState(false);
  const [isBroken, setBroken] = useState(false);
  const type = stub.mediaType ?? part.mediaType ?? "unknown type";
  const name = String(part.filename ?? "") || type;
  const kind = KINDS.find((each) => type.toLowerCase().startsWith(`${each}/`));
  const address = apiAddress("media", { id: sessionId, message: messageId, path: stub.path });
  return (
    <figure class="media">
      <figcaption>
        <Icon name="file" />
        <bdi class="media-name">{name}</bdi>
        {name !== type && <span class="badge">{type}</span>}
        <span class="size">{bytes(stub.bytes)}</span>
        {kind !== undefined && (
          <button type="button" onClick={() => setShown(!isShown)} aria-expanded={isShown}>
            {isShown ? "Hide" : kind === "image" ? "Preview" : "Play"}
          </button>
        )}
        <a href={address} download={name}>
          Save
        </a>
      </figcaption>
      {isShown && isBroken && <p class="nothing">Your browser cannot show it.</p>}
      {isShown && !isBroken && kind !== undefined && (
        <Preview kind={kind} address={address} name={name} onError={() => setBroken(true)} />
      )}
    </figure>
  );
}

interface PreviewProps {
  readonly kind: (typeof KINDS)[number];
  readonly address: string;
  readonly name: string;
  readonly onError: () => void;
}

function Preview({ kind, address, name, onError }: PreviewProps) {
  if (kind === "image") return <img src={address} alt={name} onError={onError} />;
  // Their captions, if there are any, are in the conversation.
  const Player = kind;
  return <Player controls src={address} aria-label={name} onError={onError} />;
}

const STATES: Readonly<Record<string, { readonly name: string; readonly class: string }>> = {
  "input-streaming": { name: "being written", class: "badge" },
  "input-available": { name: "no answer", class: "badge" },
  "approval-requested": { name: "waits for approval", class: "badge warn" },
  "approval-responded": { name: "approval answered", class: "badge" },
  "output-available": { name: "done", class: "badge good" },
  "output-error": { name: "failed", class: "badge bad" },
  "output-denied": { name: "denied", class: "badge warn" },
};

interface ToolPartProps {
  readonly part: HistoryMessagePart;
  /** How long it took; null where that is not known. */
  readonly milliseconds: number | null;
}

/** A tool call with its input, output and time, folded. */
function ToolPart({ part, milliseconds }: ToolPartProps) {
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
