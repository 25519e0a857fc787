import type { StoredVersion } from "@stemma/store";
import { useState } from "preact/hooks";
import type { MemoryOwner } from "../../api.js";
import { ownerQuery, useInfo, write } from "../api-client.js";
import { Dialog } from "../components/dialog.js";
import { Time } from "../components/fact.js";
import { Failure, Loading } from "../components/failure.js";
import { DifferenceView } from "../difference/difference-view.js";
import { useReloadOn } from "../hooks/use-change.js";
import { useResource } from "../hooks/use-resource.js";
import { linkHere, linkTo } from "../location.js";

interface Props {
  readonly owner: MemoryOwner;
  readonly label: string;
  /** The entry's key; null for a block. */
  readonly entry: string | null;
  /** The version that is known to be the newest. */
  readonly known: number | string;
  /** The version of which the difference is shown; null for the newest. */
  readonly shown: string | null;
  readonly reload: () => void;
}

/** The versions of a block or an entry, newest first, and what one of them changed. */
export function Versions({ owner, label, entry, known, shown, reload }: Props) {
  const info = useInfo();
  const list = useResource("versions", { ...ownerQuery(owner), label, entry });
  useReloadOn(String(known), list.reload);
  const [restored, setRestored] = useState<number | null>(null);
  const versions = list.data?.versions ?? [];
  const place = Math.max(0, shown === null ? 0 : versions.findIndex(({ version }) => String(version) === shown));
  const version = versions[place];
  const before = versions[place + 1];
  const restore = async () => {
    if (restored === null) return;
    await write("restore-version", { owner, label, key: entry, version: restored });
    list.reload();
    reload();
  };
  return (
    <section class="panel">
      <h2>Versions</h2>
      {list.error && <Failure error={list.error} retry={list.reload} />}
      {list.data === null && !list.error && <Loading />}
      {list.data && versions.length === 0 && <p class="nothing">No versions are kept.</p>}
      <ol class="version-list">
        {versions.map((each, index) => (
          <VersionRow
            key={each.version}
            version={each}
            isShown={index === place}
            restore={info?.canWrite && index > 0 && each.content !== null ? () => setRestored(each.version) : null}
          />
        ))}
      </ol>
      {version && (
        <>
          <h3>What version {version.version} changed</h3>
          <DifferenceView
            before={before?.content ?? ""}
            after={version.content ?? ""}
            names={[before ? `Version ${before.version}` : "Nothing", `Version ${version.version}`]}
          />
        </>
      )}
      {restored !== null && (
        <Dialog title={`Restore version ${restored}?`} action="Restore" run={restore} close={() => setRestored(null)}>
          <p>
            {entry === null ? "Its text becomes" : "Its text, times and tags become"} the newest version. The versions
            between stay.
          </p>
        </Dialog>
      )}
    </section>
  );
}

interface VersionRowProps {
  readonly version: StoredVersion;
  readonly isShown: boolean;
  /** Null where it cannot be restored. */
  readonly restore: (() => void) | null;
}

const AUTHORS = { model: "the model", program: "the program", learning: "learned", import: "imported" } as const;

/** A version: who wrote it, when, and of which messages it came. */
function VersionRow({ version, isShown, restore }: VersionRowProps) {
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
