import type { LaneRow } from "./layout.js";

interface Props {
  readonly row: LaneRow;
  /** How many columns there are. */
  readonly width: number;
  readonly height: number;
  /** It lies on the shown path, and so does the lane that comes from above. */
  readonly isOnPath: boolean;
  /** The column in which the shown path only passes by; null for none. */
  readonly pathPassing: number | null;
  readonly isHollow: boolean;
}

const WIDEST_PX = 150;
const WIDEST_STEP = 14;
const NARROWEST_STEP = 4;

/** How wide the columns are drawn together; those that find no room share the last one. */
export function graphWidth(width: number): number {
  return Math.min(WIDEST_PX, stepOf(width) * width) + 8;
}

function stepOf(width: number): number {
  return Math.max(NARROWEST_STEP, Math.min(WIDEST_STEP, WIDEST_PX / width));
}

/** The dot of a message, and the lines that cross its row. */
export function LaneGraph({ row, width, height, isOnPath, pathPassing, isHollow }: Props) {
  const step = stepOf(width);
  const most = Math.floor(WIDEST_PX / step) - 1;
  const x = (lane: number) => Math.min(lane, most) * step + step / 2 + 2;
  const middle = height / 2;
  const dot = x(row.lane);
  const through = (lane: number) => `M${x(lane)} 0V${height}`;
  const bend = (from: number, fromY: number, to: number) =>
    `M${from} ${fromY}C${from} ${height} ${to} ${middle} ${to} ${height}`;
  const own = [
    row.comesFromAbove ? `M${dot} 0V${middle}` : "",
    row.parentLane === null
      ? ""
      : row.parentLane === row.lane
        ? `M${dot} ${middle}V${height}`
        : bend(dot, middle, x(row.parentLane)),
  ].join("");
  const others = row.passing.filter((lane) => lane !== pathPassing).map(through);
  if (row.joiningLane !== null && row.joiningLane !== pathPassing) others.push(bend(x(row.joiningLane), 0, dot));
  return (
    <svg class="lane-graph" width={graphWidth(width)} height={height} aria-hidden="true">
      <path class="lane" d={others.join("")} />
      <path class={isOnPath ? "lane on-path" : "lane"} d={own} />
      {pathPassing !== null && (
        <path
          class="lane on-path"
          d={row.joiningLane === pathPassing ? bend(x(pathPassing), 0, dot) : through(pathPassing)}
        />
      )}
      <circle
        class={`dot ${isOnPath ? "on-path" : ""} ${isHollow ? "hollow" : ""}`}
        cx={dot}
        cy={middle}
        r={step < 8 ? 2 : 3.5}
      />
    </svg>
  );
}
