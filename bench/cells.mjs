// How values are written in tables.

// As many as tell a value from its target.
const digits = (value) => (value >= 100 ? 0 : value >= 10 ? 1 : value >= 2 ? 2 : 3);
export const show = (value, unit) => `${value.toFixed(digits(value))}${unit}`;
export const spreadOf = ({ min, max, values }, unit) =>
  values.length === 1 ? "exact" : `${show(min, "")}–${show(max, unit)}`;

/** A row as texts: verdict, target, measured, range of the rounds, what is measured. */
export function cellsOf(row) {
  const { work, against, target, unit, median, met } = row;
  const goal =
    target === undefined
      ? ""
      : target.atLeast === undefined
        ? `≤ ${target.atMost}${unit}`
        : `≥ ${target.atLeast}${unit}`;
  const verdict = met === null ? "" : met ? "met" : "missed";
  const measured = row.values.length === 1 && unit === "" ? `${median}` : show(median, unit);
  return [verdict, goal, measured, spreadOf(row, unit), against ? `${work}, vs ${against}` : work];
}
