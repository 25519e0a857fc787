import { useState } from "preact/hooks";
import type { HistoryMessagePart } from "../../../session.js";
import type { MediaStub } from "../../api.js";
import { apiAddress } from "../api-client.js";
import { Icon } from "../components/icons.js";
import { bytes } from "../format.js";

type Media = MediaStub["$media"];

/** The medium of a part, where the server put its size in the place of the data. */
export function stubOf(part: HistoryMessagePart): Media | null {
  for (const value of [part.url, part.data, part.image]) {
    const stub = (value as Partial<MediaStub> | null | undefined)?.$media;
    if (typeof stub === "object" && stub !== null && typeof stub.path === "string") return stub;
  }
  return null;
}

const KINDS = ["image", "audio", "video"] as const;

interface Props {
  readonly part: HistoryMessagePart;
  readonly stub: Media;
  readonly sessionId: string;
  readonly messageId: string;
}

/** A medium with its type and size. An image, sound or video is loaded when somebody asks for it. */
export function MediaPart({ part, stub, sessionId, messageId }: Props) {
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
