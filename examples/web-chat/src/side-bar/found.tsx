import type { ChatMatch } from "stemma/ai-sdk";
import { Link } from "wouter";
import { useFound } from "../api";
import { shortTime } from "../times";

/** What a search found: each hit leads to its message, whichever branch that is on. */
export function Found({ query }: { query: string }) {
  const { data, error } = useFound(query);
  if (error) return <p className="hint">{error.message}</p>;
  if (data === undefined) return <p className="hint">Searching …</p>;
  if (data.matches.length === 0) return <p className="hint">No message says “{query}”.</p>;
  return (
    <ul className="found" aria-label="Found messages">
      {data.matches.map((hit) => {
        return (
          <li key={`${hit.chatId}/${hit.messageId}`}>
            <Link href={pathTo(hit.chatId, hit.messageId)}>
              <span className="where">
                <span>{hit.chatName || "New chat"}</span>
                <time dateTime={hit.createdAt}>{shortTime(hit.createdAt)}</time>
              </span>
              <Snippet hit={hit} />
            </Link>
          </li>
        );
      })}
    </ul>
  );
}

function Snippet({ hit: { role, snippet } }: { hit: ChatMatch }) {
  const pieces = snippet.split(/«(.*?)»/su);
  return (
    <span className="snippet">
      {role === "user" ? "You: " : ""}
      {pieces.map((piece, index) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: every second piece matched; they never move.
        index % 2 === 1 ? <mark key={index}>{piece}</mark> : piece,
      )}
    </span>
  );
}

export function pathTo(chatId: string, messageId: string): string {
  return `/chat/${chatId}?message=${encodeURIComponent(messageId)}`;
}
