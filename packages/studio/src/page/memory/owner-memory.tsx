import type { MemoryOwner, MemoryView, RememberedRow, SkillRow } from "../../api.js";
import { ownerQuery } from "../api-client.js";
import { Time } from "../components/fact.js";
import { Empty, Failure, Loading } from "../components/failure.js";
import { LongText } from "../components/long-text.js";
import { count } from "../format.js";
import { useResource } from "../hooks/use-resource.js";
import { linkTo } from "../location.js";
import type { Place } from "../router.js";
import { BlockDetail } from "./block-detail.js";
import { Collection } from "./collection.js";

/** An owner's blocks and entries, and one of them in full. */
export function OwnerMemory({ owner, place }: { readonly owner: MemoryOwner; readonly place: Place }) {
  const { data: memory, error, reload } = useResource("memory", ownerQuery(owner));
  if (error !== null && memory === null) return <Failure error={error} retry={reload} />;
  if (memory === null) return <Loading />;
  const first = memory.blocks[0]?.label ?? memory.collections[0]?.label ?? null;
  const wanted = place.query.get("label") ?? first;
  const isWanted = ({ label }: { label: string }) => label.toUpperCase() === wanted?.toUpperCase();
  const block = memory.blocks.find(isWanted);
  const collection = memory.collections.find(isWanted);
  return (
    <div class="memory-body">
      <aside class="memory-list" aria-label="Blocks and entries">
        <MemoryList owner={owner} memory={memory} shown={block?.label ?? collection?.label ?? null} />
        {"session" in owner && <Skills session={owner.session} />}
      </aside>
      <div class="memory-main">
        {block && <BlockDetail key={block.label} owner={owner} block={block} place={place} reload={reload} />}
        {collection && <Collection key={collection.label} owner={owner} collection={collection} place={place} />}
        {first === null && (
          <Empty title="Nothing is remembered here yet.">
            {"session" in owner && (
              <>
                Blocks appear here once they are written. A user's blocks stand at the user:{" "}
                <a href={linkTo("/memory")}>all owners</a>.
              </>
            )}
          </Empty>
        )}
        {first !== null && block === undefined && collection === undefined && (
          <Empty title={`There is no block or collection "${wanted}" here.`}>
            It may be empty, or belong to another owner: <a href={linkTo("/memory")}>all owners</a>.
          </Empty>
        )}
      </div>
    </div>
  );
}

/** The skills that the session's model loaded, and those it unloaded. */
function Skills({ session }: { readonly session: string }) {
  const { data } = useResource("session", { id: session });
  if (data === null) return null;
  const { loaded, unloaded } = data.skills;
  if (loaded.length === 0 && unloaded.length === 0) return null;
  return (
    <>
      <h2>Skills</h2>
      <ul>
        {loaded.map((skill) => row(skill, "loaded"))}
        {unloaded.map((skill) => row(skill, "unloaded"))}
      </ul>
    </>
  );
}

function row({ label, key }: SkillRow, state: "loaded" | "unloaded") {
  return (
    <li key={`${state} ${label} ${key}`} class="memory-row">
      <bdi>
        {label}: {key}
      </bdi>
      <span class={state === "loaded" ? "badge good" : "badge"}>{state}</span>
    </li>
  );
}

interface Props {
  readonly owner: MemoryOwner;
  readonly memory: MemoryView;
  /** The label that is shown in full. */
  readonly shown: string | null;
}

/** The labels of an owner's blocks and entries. */
function MemoryList({ owner, memory, shown }: Props) {
  const row = (label: string, aside: string) => (
    <li key={label}>
      <a
        class="memory-row"
        href={linkTo("/memory", { ...ownerQuery(owner), label })}
        aria-current={label === shown ? "true" : undefined}
        data-item
      >
        <bdi>{label}</bdi>
        <span class="quiet-number">{aside}</span>
      </a>
    </li>
  );
  return (
    <div data-items>
      {memory.blocks.length > 0 && (
        <>
          <h2>Blocks</h2>
          <ul>{memory.blocks.map(({ label, tokens, version }) => row(label, `${count(tokens)} tok · v${version}`))}</ul>
        </>
      )}
      {memory.collections.length > 0 && (
        <>
          <h2>Entries</h2>
          <ul>{memory.collections.map(({ label, count: number }) => row(label, entriesOf(number)))}</ul>
        </>
      )}
    </div>
  );
}

function entriesOf(number: number): string {
  return number === 1 ? "1 entry" : `${count(number)} entries`;
}

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
