import type { ComponentChildren } from "preact";
import type { UsageRow } from "../../api.js";
import { cost, count, short } from "../format.js";
import { linkHere, linkTo } from "../location.js";
import { filledDays } from "./filled-days.js";
import { ScrollRegion } from "./scroll-region.js";

const HEIGHT = 160;

/**
 * Tokens by day as bars, oldest first; days without usage have none. The table below holds the same figures. Where no day has
 * tokens, there is no chart.
 */
export function UsageChart({ rows }: { readonly rows: readonly UsageRow[] }) {
  const days = filledDays(rows);
  const highest = Math.max(...days.map(({ inputTokens, outputTokens }) => inputTokens + outputTokens));
  if (highest <= 0) return null;
  const y = (tokens: number) => (tokens / highest) * HEIGHT;
  return (
    <figure class="chart">
      <figcaption>
        <span class="swatch source-message" /> Input <span class="swatch source-block" /> Output
        <span class="quiet-number">highest day: {short(highest)} tokens</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${days.length * 10} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label="Tokens by day"
      >
        {days.map(({ name, inputTokens, outputTokens }, place) => (
          <g key={name}>
            <title>{`${name}: ${count(inputTokens)} in, ${count(outputTokens)} out`}</title>
            <rect class="hover-area" x={place * 10} width="10" height={HEIGHT} />
            <rect
              class="source-message"
              x={place * 10 + 1}
              width="8"
              y={HEIGHT - y(inputTokens)}
              height={y(inputTokens)}
            />
            <rect
              class="source-block"
              x={place * 10 + 1}
              width="8"
              y={HEIGHT - y(inputTokens + outputTokens)}
              height={y(outputTokens)}
            />
          </g>
        ))}
      </svg>
      <div class="chart-axis" aria-hidden="true">
        <span>{days[0]?.name}</span>
        <span>{days.length > 1 && days.at(-1)?.name}</span>
      </div>
    </figure>
  );
}

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
    <FiguresTable
      label={`Usage by ${by}`}
      rows={rows}
      name={[NAMES[by], (row) => <Name row={row} by={by} />]}
      figures={[
        ["Requests", (row) => count(row.requests)],
        ["Input", (row) => count(row.inputTokens)],
        ["Output", (row) => count(row.outputTokens)],
        ["Cost", (row) => cost(row.cost)],
      ]}
      bar={[
        "Tokens",
        ({ inputTokens, outputTokens }) => (
          <>
            <rect class="source-message" width={(inputTokens / highest) * 100} height="8" />
            <rect
              class="source-block"
              x={(inputTokens / highest) * 100}
              width={(outputTokens / highest) * 100}
              height="8"
            />
          </>
        ),
      ]}
    />
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

interface FiguresProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  /** The first column: its head, and what stands in it. */
  readonly name: readonly [head: string, of: (row: Row) => ComponentChildren];
  readonly figures: readonly (readonly [head: string, of: (row: Row) => string])[];
  /** The last column: its head, and a picture 100 wide and 8 high. */
  readonly bar: readonly [head: string, of: (row: Row) => ComponentChildren];
}

/** A table of figures, with a bar behind those of each row. */
export function FiguresTable<Row extends { readonly name: string }>({
  label,
  rows,
  name,
  figures,
  bar,
}: FiguresProps<Row>) {
  return (
    <ScrollRegion label={label}>
      <table class="wide usage-table">
        <thead>
          <tr>
            <th>{name[0]}</th>
            {figures.map(([head]) => (
              <th key={head} class="number">
                {head}
              </th>
            ))}
            <th class="bar-column">{bar[0]}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <td class="name">{name[1](row)}</td>
              {figures.map(([head, of]) => (
                <td key={head} class="number">
                  {of(row)}
                </td>
              ))}
              <td class="bar-column">
                <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                  {bar[1](row)}
                </svg>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
