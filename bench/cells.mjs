// How values are written in tables.

// As many as tell a value from its target.
const digits = (value) => (value >= 100 ? 0 : value >= 10 ? 1 : value >= 2 ? 2 : 3);
export const show = (value, unit) => `${value.toFixed(digits(value))}${unit}`;
export const spreadOf = ({ min, max, values }, unit) =>
  values.length === 1 ? "exact" : `${show(min, "")}–${show(max, unit)}`;

/** `met` in every round, `by median` where only the median meets the target, or `missed`; null without a target. */
export function verdictOf({ target, median, min, max }) {
  if (target === undefined) return null;
  const { atLeast = -Infinity, atMost = Infinity } = target;
  if (median < atLeast || median > atMost) return "missed";
  return min >= atLeast && max <= atMost ? "met" : "by median";
}

/** A row as texts: verdict, target, measured, range of the rounds, what is measured. */
export function cellsOf(row) {
  const { work, against, target, unit, median } = row;
  const goal =
    target === undefined
      ? ""
      : target.atLeast === undefined
        ? `≤ ${target.atMost}${unit}`
        : `≥ ${target.atLeast}${unit}`;
  const measured = row.values.length === 1 && unit === "" ? `${median}` : show(median, unit);
  return [verdictOf(row) ?? "", goal, measured, spreadOf(row, unit), against ? `${work}, vs ${against}` : work];
}
