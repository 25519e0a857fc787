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
