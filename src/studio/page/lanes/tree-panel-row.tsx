import type { TreeRow } from "../../api.js";
import { Icon } from "../components/icons.js";
import { fullTime } from "../format.js";
import { LaneGraph } from "./lane-graph.js";
import type { LaneRow } from "./layout.js";

interface Props {
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
export function TreePanelRow({ node, link, row, isCovered, isActive, isShown, ...graph }: Props) {
  const name = `${node.role}: ${node.preview || "no text"}`;
  const notes = [row?.isFork && "fork", isCovered && "covered by a summary", isActive && "active leaf"].filter(Boolean);
  return (
    <a
      class={`tree-row ${graph.isOnPath ? "on-path" : ""} ${isCovered ? "is-covered" : ""}`}
      href={link}
      aria-current={isShown ? "true" : undefined}
      aria-label={[name.slice(0, 120), ...notes].join(", ")}
      title={`${fullTime(new Date(node.createdAt))}${notes.length > 0 ? ` · ${notes.join(", ")}` : ""}`}
      data-item
    >
      {row && <LaneGraph {...graph} row={row} isHollow={node.role === "user"} />}
      <span class="tree-text">
        <bdi>{node.preview || "no text"}</bdi>
      </span>
      {row?.isFork && (
        <span class="tree-mark">
          <Icon name="branch" />
        </span>
      )}
      {isActive && <span class="badge good">active</span>}
    </a>
  );
}
