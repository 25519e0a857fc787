import { useMemo, useState } from "preact/hooks";
import type { SessionView, TreeRow } from "../../api.js";
import { Failure, Loading } from "../components/failure.js";
import { Icon } from "../components/icons.js";
import { VirtualList } from "../components/virtual-list.js";
import { counted, fullTime } from "../format.js";
import { linkHere } from "../location.js";
import type { LaneRow } from "./layout.js";
import { coveredPlaces, pathPlaces } from "./layout.js";
import type { Tree } from "./use-tree.js";

const ROW_HEIGHT = 28;

interface Props {
  readonly view: SessionView;
  readonly tree: Tree;
  /** The last message of the shown path. */
  readonly leaf: string | null;
  readonly at: string | null;
}

/** Every message of every branch, newest first, with lanes that lead from each to the one before it. */
export function TreePanel({ view, tree, leaf, at }: Props) {
  const { nodes, layout } = tree;
  const onPath = useMemo(() => pathPlaces(nodes, leaf), [nodes, leaf]);
  const covered = useMemo(() => coveredPlaces(nodes, view.compactions), [nodes, view.compactions]);
  const passing = useMemo(() => pathLanes(layout.rows, onPath), [layout, onPath]);
  const [firstLeaf] = useState(leaf);
  const linkOf = (node: TreeRow) => {
    const below = tree.leafBelow(node.id) ?? node.id;
    return linkHere({
      leaf: below === view.leafId ? null : below,
      at: node.id,
      lanes: null,
    });
  };
  return (
    <aside class="tree-panel" aria-label="Tree">
      <div class="panel-head">
        <h2>Tree</h2>
        <span class="quiet-number">{counted(view.stored, "message")}</span>
        <a class="quiet" href={linkHere({ lanes: "0" })} aria-label="Hide the tree" title="Hide the tree">
          <Icon name="close" />
        </a>
      </div>
      <VirtualList
        items={nodes}
        rowHeight={ROW_HEIGHT}
        label="Messages of all branches, newest first"
        keyOf={({ id }) => id}
        shown={at ?? firstLeaf}
        onEnd={tree.error ? undefined : tree.more}
        row={(node, place) => (
          <TreePanelRow
            node={node}
            link={linkOf(node)}
            row={layout.rows[place]}
            width={layout.width}
            height={ROW_HEIGHT}
            isOnPath={onPath.has(place)}
            pathPassing={passing[place] ?? null}
            isCovered={covered.has(place)}
            isActive={node.id === view.leafId}
            isShown={node.id === at}
          />
        )}
        footer={tree.error ? <Failure error={tree.error} retry={tree.more} /> : !tree.isComplete && <Loading />}
      />
    </aside>
  );
}

/** For each row the column in which the shown path passes it by; null where it does not, or has its dot there. */
function pathLanes(rows: readonly LaneRow[], onPath: ReadonlySet<number>): (number | null)[] {
  let lane: number | null = null;
  return rows.map((row, place) => {
    if (onPath.has(place)) {
      lane = row.parentLane;
      return null;
    }
    const passing = lane;
    // The lane of the path bends into that of the dot where both lead to the same message.
    if (lane !== null && row.joiningLane === lane) lane = row.lane;
    return passing;
  });
}

interface TreePanelRowProps {
  readonly node: TreeRow;
  readonly link: string;
  readonly row: LaneRow | undefined;
  readonly width: number;
  readonly height: number;
  readonly isOnPath: boolean;
  readonly pathPassing: number | null;
  readonly isCovered: boolean;
  readonly isActive: boolean;
  readonly isShown: boolean;
}

/** A message in the tree: a link that shows its branch. */
function TreePanelRow({ node, link, row, isCovered, isActive, isShown, ...graph }: TreePanelRowProps) {
  const notes = [row?.isFork && "fork", isCovered && "covered by a summary", isActive && "active leaf"].filter(Boolean);
  return (
    <a
      class={`tree-row ${graph.isOnPath ? "on-path" : ""} ${isCovered ? "is-covered" : ""}`}
      href={link}
      aria-current={isShown ? "true" : undefined}
      title={`${fullTime(new Date(node.createdAt))}${notes.length > 0 ? ` · ${notes.join(", ")}` : ""}`}
      data-item
    >
      {row && <LaneGraph {...graph} row={row} isHollow={node.role === "user"} />}
      <span class="tree-text">
        <span class="hidden-text">{node.role}: </span>
        <bdi>{node.preview || "no text"}</bdi>
        {notes.length > 0 && <span class="hidden-text">, {notes.join(", ")}</span>}
      </span>
      {row?.isFork && (
        <span class="tree-mark">
          <Icon name="branch" />
        </span>
      )}
      {isActive && (
        <span class="badge good" aria-hidden="true">
          active
        </span>
      )}
    </a>
  );
}

interface LaneGraphProps {
  readonly row: LaneRow;
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
function graphWidth(width: number): number {
  return Math.min(WIDEST_PX, stepOf(width) * width) + 8;
}

function stepOf(width: number): number {
  return Math.max(NARROWEST_STEP, Math.min(WIDEST_STEP, WIDEST_PX / width));
}

/** The dot of a message, and the lines that cross its row. */
function LaneGraph({ row, width, height, isOnPath, pathPassing, isHollow }: LaneGraphProps) {
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
