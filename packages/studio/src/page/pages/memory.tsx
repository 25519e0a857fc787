import type { MemoryOwner } from "../../api.js";
import { read } from "../api-client.js";
import { Empty, Failure, Loading } from "../components/failure.js";
import { SessionPageHead } from "../components/session-head.js";
import { VirtualList } from "../components/virtual-list.js";
import { usePages } from "../hooks/use-resource.js";
import { linkTo, navigate } from "../location.js";
import { OwnerMemory, RememberedList } from "../memory/owner-memory.js";
import type { Place } from "../router.js";

/** The page of the memory of a session, a user, or a key that several share. */
export function MemoryPage({ place }: { readonly place: Place }) {
  const owner = ownerOf(place);
  const message = place.query.get("message");
  if (owner === null) {
    return (
      <div class="page list-page">
        <div class="page-head">
          <h1>Memory</h1>
        </div>
        <Owners />
      </div>
    );
  }
  return (
    <div class="page memory-page">
      {"session" in owner ? <SessionPageHead id={owner.session} here={place.path} /> : <OwnerHead owner={owner} />}
      {message !== null && "session" in owner ? (
        <RememberedList session={owner.session} message={message} />
      ) : (
        <OwnerMemory key={JSON.stringify(owner)} owner={owner} place={place} />
      )}
    </div>
  );
}

function ownerOf({ query }: Place): MemoryOwner | null {
  const [session, user, key] = [query.get("session"), query.get("user"), query.get("key")];
  if (session !== null) return { session };
  if (user !== null) return { user };
  return key === null ? null : { key };
}

function OwnerHead({ owner }: { readonly owner: Exclude<MemoryOwner, { session: string }> }) {
  const isUser = "user" in owner;
  return (
    <header class="session-head">
      <div class="session-name">
        <h1>
          <span class="owner-kind">{isUser ? "User" : "Shared key"}</span> <bdi>{isUser ? owner.user : owner.key}</bdi>
        </h1>
      </div>
      <div class="session-bar">
        <nav class="tabs" aria-label="Memory">
          <a href={linkTo("/memory")}>All owners</a>
          {isUser && <a href={linkTo("/", { user: owner.user })}>Sessions of the user</a>}
        </nav>
      </div>
    </header>
  );
}

const PAGE_SIZE = 200;

function Owners() {
  const open = (event: SubmitEvent) => {
    event.preventDefault();
    const session = String(new FormData(event.currentTarget as HTMLFormElement).get("session") ?? "");
    navigate(linkTo("/memory", { session }));
  };
  return (
    <div class="owners">
      <OwnerColumn kind="user" title="Users" empty="No user has a memory." scope='"user"' />
      <OwnerColumn kind="key" title="Shared keys" empty="Nothing is shared by a key." scope='{ key: "team" }' />
      <section class="owner-column">
        <h2>Session</h2>
        <form class="search-form" onSubmit={open}>
          <input
            name="session"
            placeholder="Id of a session"
            aria-label="Id of a session"
            required
            spellcheck={false}
          />
          <button type="submit">Open</button>
        </form>
        <p class="hint">
          Each page of a session leads to its memory too: <a href={linkTo("/")}>all sessions</a>.
        </p>
      </section>
    </div>
  );
}

interface Props {
  readonly kind: "user" | "key";
  readonly title: string;
  readonly empty: string;
  /** With which scope a program puts a block there. */
  readonly scope: string;
}

function OwnerColumn({ kind, title, empty, scope }: Props) {
  const owners = usePages<string>(
    `owners ${kind}`,
    async (after, signal) => {
      const page = await read("owners", { kind, after, limit: PAGE_SIZE }, signal);
      return { items: page.owners, next: page.next };
    },
    { keep: true },
  );
  return (
    <section class="owner-column">
      <h2>{title}</h2>
      {owners.isComplete && owners.items.length === 0 ? (
        <Empty title={empty}>
          A block with <code>scope: {scope}</code> appears here once it is written.
        </Empty>
      ) : (
        <VirtualList
          items={owners.items}
          rowHeight={36}
          label={title}
          keyOf={(owner) => owner}
          onEnd={owners.error ? undefined : owners.more}
          row={(owner) => (
            <a class="owner-row" href={linkTo("/memory", { [kind]: owner })} data-item>
              <bdi>{owner}</bdi>
            </a>
          )}
          footer={
            owners.error ? (
              <Failure error={owners.error} retry={owners.items.length === 0 ? owners.reload : owners.more} />
            ) : (
              owners.isLoading && <Loading />
            )
          }
        />
      )}
    </section>
  );
}
