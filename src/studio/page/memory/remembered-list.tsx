import type { MemoryOwner, RememberedRow } from "../../api.js";
import { ownerQuery } from "../api-client.js";
import { Empty } from "../components/empty.js";
import { Failure } from "../components/failure.js";
import { Loading } from "../components/loading.js";
import { LongText } from "../components/long-text.js";
import { Time } from "../components/time.js";
import { useResource } from "../hooks/use-resource.js";
import { linkTo } from "../location.js";

/** Everything that was remembered of one message. */
export function RememberedList({ session, message }: { readonly session: string; readonly message: string }) {
  const { data, error, reload } = useResource("writes", { id: session, message });
  return (
    <div class="remembered">
      <p class="hint">
        What was remembered of message{" "}
        <a href={linkTo("/session", { id: session, at: message })}>
          <bdi>{message}</bdi>
        </a>
      </p>
      {error && <Failure error={error} retry={reload} />}
      {data === null && !error && <Loading />}
      {data?.writes.length === 0 && <Empty title="Nothing was remembered of this message." />}
      {data?.writes.map((row) => (
        <Remembered key={`${JSON.stringify(row.owner)} ${row.label} ${row.key} ${row.version}`} row={row} />
      ))}
    </div>
  );
}

function Remembered({ row }: { readonly row: RememberedRow }) {
  const { owner, label, key, version, content } = row;
  const address = linkTo("/memory", { ...ownerQuery(owner), label, entry: key, version });
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>
          <a href={address}>
            <bdi>{key === null ? label : `${label}: ${key}`}</bdi>
          </a>
        </h2>
        <span class="badge">{ownerName(owner)}</span>
        <span class="quiet-number">
          version {version} · <Time at={row.writtenAt} />
        </span>
      </div>
      {content === null ? <p class="nothing">The entry was removed.</p> : <LongText text={content} label={label} />}
    </section>
  );
}

function ownerName(owner: MemoryOwner): string {
  if ("session" in owner) return "this session";
  return "user" in owner ? `user ${owner.user}` : `shared key ${owner.key}`;
}
