import type { MemoryOwner } from "../../api.js";
import { SessionPageHead } from "../components/session-head.js";
import { linkTo } from "../location.js";
import { OwnerMemory, RememberedList } from "../memory/owner-memory.js";
import { Owners } from "../memory/owners.js";
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
