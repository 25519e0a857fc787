import type { ComponentChildren } from "preact";
import { ScrollRegion } from "./scroll-region.js";

interface Props<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  /** The first column: its head, and what stands in it. */
  readonly name: readonly [head: string, of: (row: Row) => ComponentChildren];
  readonly figures: readonly (readonly [head: string, of: (row: Row) => string])[];
  /** The last column: its head, and a picture 100 wide and 8 high. */
  readonly bar: readonly [head: string, of: (row: Row) => ComponentChildren];
}

/** A table of figures, with a bar behind those of each row. */
export function FiguresTable<Row extends { readonly name: string }>({ label, rows, name, figures, bar }: Props<Row>) {
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
