import type { FoundHit } from "../../api.js";
import { score } from "../format.js";
import { linkTo } from "../location.js";
import { Time } from "./fact.js";
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
