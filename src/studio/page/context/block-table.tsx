import type { ContextView } from "../../api.js";
import { ScrollRegion } from "../components/scroll-region.js";
import { count } from "../format.js";
import { linkTo } from "../location.js";

/** The blocks as they are now, with how full they are. */
export function BlockTable({ id, blocks }: { readonly id: string; readonly blocks: ContextView["blocks"] }) {
  return (
    <section class="panel">
      <h2>Blocks now</h2>
      <ScrollRegion label="Blocks">
        <table class="wide">
          <thead>
            <tr>
              <th>Block</th>
              <th class="number">Version</th>
              <th class="number">Tokens</th>
              <th class="number">Budget</th>
              <th>Full</th>
            </tr>
          </thead>
          <tbody>
            {blocks.map(({ label, version, tokens, maxTokens }) => (
              <tr key={label}>
                <td>
                  <a href={linkTo("/memory", { session: id, label })}>
                    <bdi>{label}</bdi>
                  </a>
                </td>
                <td class="number">{version ?? "–"}</td>
                <td class="number">{count(tokens)}</td>
                <td class="number">{maxTokens === null ? "none" : count(maxTokens)}</td>
                <td>
                  {maxTokens !== null && (
                    <meter value={tokens} max={maxTokens} high={maxTokens * 0.9} aria-label={`${label} is full to`} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}
