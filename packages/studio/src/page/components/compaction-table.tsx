import type { UsageView } from "../../api.js";
import { count } from "../format.js";
import { linkHere, linkTo } from "../location.js";
import { ScrollRegion } from "./scroll-region.js";

type Compactions = UsageView["compactions"];

const NAMES = { day: "Day (UTC)", session: "Session", compaction: "Compaction" } as const;

/** A table of compactions: tokens of the covered messages before, and after. */
export function CompactionTable({ by, rows, total, sessionId }: Compactions & { readonly sessionId: string | null }) {
  const highest = Math.max(1, ...rows.map((row) => row.tokensBefore));
  return (
    <section class="compactions" aria-label="Compactions">
      <h2>Compactions</h2>
      <p class="about">
        {count(total.compactions)} made {count(total.tokensAfter)} tokens of {count(total.tokensBefore)}: {saved(total)}{" "}
        less in each request that holds a summary. Estimated, as of when each was made.
      </p>
      <ScrollRegion label={`Compactions by ${by}`}>
        <table class="wide usage-table">
          <thead>
            <tr>
              <th>{NAMES[by]}</th>
              <th class="number">Compactions</th>
              <th class="number">Before</th>
              <th class="number">After</th>
              <th class="number">Saved</th>
              <th class="bar-column">Before and after</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name}>
                <td class="name">
                  <a href={addressOf(by, row.name, sessionId)} title={row.name}>
                    <bdi>{row.sessionName ?? row.name}</bdi>
                  </a>
                </td>
                <td class="number">{count(row.compactions)}</td>
                <td class="number">{count(row.tokensBefore)}</td>
                <td class="number">{count(row.tokensAfter)}</td>
                <td class="number">{saved(row)}</td>
                <td class="bar-column">
                  <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="covered-tokens" width={(row.tokensBefore / highest) * 100} height="8" />
                    <rect class="source-summary" width={(row.tokensAfter / highest) * 100} height="8" />
                  </svg>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}

function addressOf(by: Compactions["by"], name: string, sessionId: string | null): string {
  if (by === "day") return linkHere({ by: "session", from: name, to: name });
  if (by === "session") return linkTo("/session", { id: name });
  return linkTo("/session", { id: sessionId ?? "", at: `compaction_${name}` });
}

function saved({ tokensBefore, tokensAfter }: Compactions["total"]): string {
  const share = tokensBefore === 0 ? 0 : 1 - tokensAfter / tokensBefore;
  return `${Math.round(share * 100)} %`;
}
