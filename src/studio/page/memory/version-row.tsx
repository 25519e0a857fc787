import type { StoredVersion } from "../../../session.js";
import { Time } from "../components/time.js";
import { linkHere, linkTo } from "../location.js";

interface Props {
  readonly version: StoredVersion;
  readonly isShown: boolean;
  /** Null where it cannot be restored. */
  readonly restore: (() => void) | null;
}

const AUTHORS = { model: "the model", program: "the program", learning: "learned", import: "imported" } as const;

/** A version: who wrote it, when, and of which messages it came. */
export function VersionRow({ version, isShown, restore }: Props) {
  const { sessionId, messageIds } = version;
  return (
    <li class="version-row" aria-current={isShown ? "true" : undefined}>
      <a href={linkHere({ version: version.version })}>Version {version.version}</a>
      <span class="badge">{version.author === null ? "unknown" : AUTHORS[version.author]}</span>
      {version.content === null && <span class="badge bad">removed</span>}
      <Time at={version.writtenAt} />
      <span class="origin">
        {sessionId !== null &&
          messageIds.slice(0, 4).map((message) => (
            <span key={message}>
              from <a href={linkTo("/session", { id: sessionId, at: message })}>{message}</a>
              {" · "}
              <a href={linkTo("/memory", { session: sessionId, message })}>what else came of it</a>
            </span>
          ))}
        {messageIds.length > 4 && <span>and {messageIds.length - 4} more messages</span>}
        {sessionId !== null && messageIds.length === 0 && (
          <span>
            in <a href={linkTo("/session", { id: sessionId })}>{sessionId}</a>
          </span>
        )}
      </span>
      {restore && (
        <button type="button" class="quiet" onClick={restore}>
          Restore
        </button>
      )}
    </li>
  );
}
