import type { FoundHit } from "../../api.js";
import { read, useInfo } from "../api-client.js";
import { Time } from "../components/fact.js";
import { Empty, Failure, Loading } from "../components/failure.js";
import { FilterField } from "../components/filter-field.js";
import { score } from "../format.js";
import { usePages } from "../hooks/use-resource.js";
import { linkHere, linkTo, navigate } from "../location.js";
import type { Place } from "../router.js";

const PAGE_SIZE = 30;

/** Messages of all sessions that match, best first, with the reasons for their order. */
export function SearchPage({ place }: { readonly place: Place }) {
  const q = place.query.get("q") ?? "";
  const info = useInfo();
  const search = (event: SubmitEvent) => {
    event.preventDefault();
    navigate(linkHere({ q: String(new FormData(event.currentTarget as HTMLFormElement).get("q") ?? "") }));
  };
  return (
    <div class="page search-page">
      <div class="page-head">
        <h1>Search</h1>
        <search>
          <form class="search-form" onSubmit={search}>
            <input key={q} type="search" name="q" defaultValue={q} placeholder="Words" aria-label="Words" data-search />
            <button type="submit" class="primary">
              Search
            </button>
          </form>
        </search>
        <div class="filters">
          <FilterField name="user" label="User" place={place} />
          <FilterField name="session" label="Session" place={place} />
          <label class="filter">
            <span>Role</span>
            <select
              value={place.query.get("role") ?? ""}
              onChange={(event) => navigate(linkHere({ role: event.currentTarget.value }), { replace: true })}
            >
              <option value="">Any</option>
              {["user", "assistant", "system"].map((role) => (
                <option key={role}>{role}</option>
              ))}
            </select>
          </label>
          <FilterField name="after" label="From" type="date" place={place} />
          <FilterField name="before" label="Until" type="date" place={place} />
        </div>
      </div>
      {info?.canSearch === false && <Empty title="This store has no search." />}
      {info?.canSearch !== false && q.trim() === "" && (
        <Empty title="Search all messages of all sessions.">
          Each result shows which words it holds, and why it stands where it stands.
        </Empty>
      )}
      {info?.canSearch !== false && q.trim() !== "" && <Hits q={q} place={place} />}
    </div>
  );
}

function Hits({ q, place }: { readonly q: string; readonly place: Place }) {
  const [user, session, role] = ["user", "session", "role"].map((name) => place.query.get(name));
  const query = { q, user, session, role, after: isoOf(place, "after"), before: isoOf(place, "before") };
  const hits = usePages<FoundHit>(
    JSON.stringify(query),
    async (offset, signal) => {
      const page = await read("search", { ...query, offset, limit: PAGE_SIZE }, signal);
      return { items: page.hits, next: page.nextOffset === null ? null : String(page.nextOffset) };
    },
    { keep: true },
  );
  const failure = hits.items[0]?.reranker?.failure;
  return (
    <div class="hits">
      {failure && <p class="nothing">In the order before the reranker. {failure}</p>}
      <ol class="hit-list" data-items aria-label="Results">
        {hits.items.map((hit, place) => (
          <SearchHit key={`${hit.sessionId} ${hit.id}`} hit={hit} place={place + 1} />
        ))}
      </ol>
      {hits.error && <Failure error={hits.error} retry={hits.items.length === 0 ? hits.reload : hits.more} />}
      {hits.isLoading && hits.items.length === 0 && <Loading />}
      {!hits.isComplete && !hits.error && hits.items.length > 0 && (
        <button type="button" class="show-rest" onClick={hits.more}>
          Show more results
        </button>
      )}
      {hits.isComplete && hits.items.length === 0 && (
        <Empty title="Nothing matches.">Try fewer or other words, or remove a filter.</Empty>
      )}
    </div>
  );
}

function isoOf(place: Place, name: string): string | null {
  const time = new Date(`${place.query.get(name)}T00:00`);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/** A message that matches, with the reasons for its place. */
export function SearchHit({ hit, place }: { readonly hit: FoundHit; readonly place: number }) {
  const { words, meaning } = hit.ranks;
  const address = linkTo("/session", { id: hit.sessionId, at: hit.id });
  return (
    <li class="hit">
      <a href={address} data-item>
        <span class="hit-head">
          <span class="hit-place">{place}</span>
          <bdi class="title">{hit.sessionName || hit.sessionId}</bdi>
          <span class="badge">
            <bdi>{hit.name ?? hit.role}</bdi>
          </span>
          {hit.coveredBy.length > 0 && <span class="badge">under a summary</span>}
          <Time at={hit.createdAt} />
        </span>
        <span class="snippet" dir="auto">
          <MarkedText text={hit.snippet} />
        </span>
      </a>
      <details class="why">
        <summary>
          Score {score(hit.score)} · {words === null ? "not found by words" : `place ${words} by words`}
          {meaning !== null && ` · place ${meaning} by meaning`}
          {hit.reranker?.failure === null && ` · ${rerankedText(hit.reranker, place, meaning !== null)}`}
        </summary>
        <table>
          <thead>
            <tr>
              <th>Word</th>
              <th class="number">How often</th>
              <th class="number">Adds</th>
            </tr>
          </thead>
          <tbody>
            {hit.words.map(({ word, count, score: own }) => (
              <tr key={word}>
                <td>
                  <bdi>{word}</bdi>
                </td>
                <td class="number">{count}</td>
                <td class="number">{score(own)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {hit.words.length === 0 && <p class="nothing">It holds none of the words: it was found by its meaning.</p>}
      </details>
    </li>
  );
}

function rerankedText(
  { from, score: own }: NonNullable<FoundHit["reranker"]>,
  place: number,
  isFused: boolean,
): string {
  if (own === null) return "the reranker was not asked about it";
  // By words alone it is the place that was told.
  return `${isFused ? `place ${from} by both · ` : ""}place ${place} after the reranker (${score(own)})`;
}

/** A text whose pieces between « and » are marked. */
function MarkedText({ text }: { readonly text: string }) {
  // At odd places stands what was between two marks.
  const pieces = text.split(/«([^«»]*)»/);
  return (
    <>
      {pieces.map((piece, place) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place in the text.
        place % 2 === 1 ? <mark key={place}>{piece}</mark> : piece,
      )}
    </>
  );
}
