import { useMemo, useState } from "preact/hooks";
import type { SessionView, TreeRow } from "../../api.js";
import { Failure } from "../components/failure.js";
import { Icon } from "../components/icons.js";
import { Loading } from "../components/loading.js";
import { VirtualList } from "../components/virtual-list.js";
import { counted } from "../format.js";
import { linkHere } from "../location.js";
import { coveredPlaces, pathPlaces } from "./marks.js";
import { pathLanes } from "./path-lanes.js";
import { TreePanelRow } from "./tree-panel-row.js";
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
