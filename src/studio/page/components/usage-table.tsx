import type { UsageRow } from "../../api.js";
import { cost, count } from "../format.js";
import { linkHere, linkTo } from "../location.js";
import { ScrollRegion } from "./scroll-region.js";

interface Props {
  readonly rows: readonly UsageRow[];
  readonly by: "day" | "model" | "session";
}

const NAMES = { day: "Day (UTC)", model: "Model", session: "Session" } as const;

/** Usage as a table, with a bar for the share of each row. */
export function UsageTable({ rows, by }: Props) {
  const tokensOf = (row: UsageRow) => row.inputTokens + row.outputTokens;
  const highest = Math.max(1, ...rows.map(tokensOf));
  return (
    <ScrollRegion label={`Usage by ${by}`}>
      <table class="wide usage-table">
        <thead>
          <tr>
            <th>{NAMES[by]}</th>
            <th class="number">Requests</th>
            <th class="number">Input</th>
            <th class="number">Output</th>
            <th class="number">Cost</th>
            <th class="bar-column">Tokens</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <td class="name">
                <Name row={row} by={by} />
              </td>
              <td class="number">{count(row.requests)}</td>
              <td class="number">{count(row.inputTokens)}</td>
              <td class="number">{count(row.outputTokens)}</td>
              <td class="number">{cost(row.cost)}</td>
              <td class="bar-column">
                <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                  <rect class="source-message" width={(row.inputTokens / highest) * 100} height="8" />
                  <rect
                    class="source-block"
                    x={(row.inputTokens / highest) * 100}
                    width={(row.outputTokens / highest) * 100}
                    height="8"
                  />
                </svg>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function Name({ row, by }: { readonly row: UsageRow; readonly by: Props["by"] }) {
  if (by === "session") {
    return (
      <a href={linkTo("/session", { id: row.name })} title={row.name}>
        <bdi>{row.sessionName ?? row.name}</bdi>
      </a>
    );
  }
  if (by === "day") return <a href={linkHere({ by: "session", from: row.name, to: row.name })}>{row.name}</a>;
  return <bdi>{row.name || "unknown"}</bdi>;
}
