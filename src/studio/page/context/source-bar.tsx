import type { ContextPart } from "../../../session.js";
import { count } from "../format.js";
import { SOURCE_NAMES, SOURCES } from "./words.js";

/** The tokens of a request by where they come from. */
export function SourceBar({ parts }: { readonly parts: readonly ContextPart[] }) {
  const total = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  let left = 0;
  const shares = SOURCES.flatMap((source) => {
    const own = parts.filter((part) => part.source === source);
    if (own.length === 0) return [];
    const tokens = own.reduce((sum, part) => sum + part.tokens, 0);
    const share = { source, tokens, count: own.length, x: left, width: total === 0 ? 0 : (tokens / total) * 100 };
    left += share.width;
    return [share];
  });
  const text = shares.map(({ source, tokens }) => `${SOURCE_NAMES[source]} ${count(tokens)}`).join(", ");
  return (
    <section class="panel">
      <h2>Tokens by source</h2>
      <svg class="source-bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={`Tokens: ${text}`}>
        {shares.map(({ source, x, width }) => (
          <rect key={source} class={`source-${source}`} x={x} width={width} height="10" />
        ))}
      </svg>
      <ul class="legend">
        {shares.map(({ source, tokens, count: number, width }) => (
          <li key={source}>
            <span class={`swatch source-${source}`} />
            {SOURCE_NAMES[source]} <span class="quiet-number">×{count(number)}</span>
            <strong class="number">{count(tokens)}</strong>
            <span class="quiet-number">{width.toFixed(width < 10 ? 1 : 0)}%</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
