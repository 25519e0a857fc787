import { useEffect } from "preact/hooks";
import type { SessionView } from "../../api.js";
import { Failure, Loading } from "../components/failure.js";
import { SessionHead } from "../components/session-head.js";
import { Conversation } from "../conversation/conversation.js";
import { useChange } from "../hooks/use-change.js";
import { useResource } from "../hooks/use-resource.js";
import { TreePanel } from "../lanes/tree-panel.js";
import { type Tree, useTree } from "../lanes/use-tree.js";
import { linkHere, navigate } from "../location.js";
import type { Place } from "../router.js";

/** A session: its conversation, and beside it the tree of its branches. */
export function SessionPage({ place }: { readonly place: Place }) {
  const id = place.query.get("id") ?? "";
  const { data: view, error, reload } = useResource("session", { id });
  useChange(id, view?.change ?? null, reload);
  return (
    <div class="page session-page">
      {error && <Failure error={error} retry={reload} />}
      {view ? <Shown view={view} place={place} reload={reload} /> : !error && <Loading />}
    </div>
  );
}

interface Props {
  readonly view: SessionView;
  readonly place: Place;
  readonly reload: () => void;
}

function Shown({ view, place, reload }: Props) {
  const tree = useTree(view);
  const leaf = place.query.get("leaf");
  const at = place.query.get("at");
  useWholeBranch(leaf, view.leafId, tree);
  const originals = place.query.get("originals") === "1";
  // Without a choice, the style sheet shows the tree where there is room.
  const lanes = { "0": "no-lanes", "1": "all-lanes" }[place.query.get("lanes") ?? ""] ?? "";
  return (
    <>
      <SessionHead view={view} place={place} reload={reload} />
      <div class={`session-body ${lanes}`}>
        <div class="session-main">
          {leaf !== null && leaf !== view.leafId && (
            <p class="notice">
              This is not the active branch. <a href={linkHere({ leaf: null, at: null })}>Show the active branch</a>
            </p>
          )}
          {originals && (
            <p class="notice">
              Summaries are left out. <a href={linkHere({ originals: null })}>Show what the model sees</a>
            </p>
          )}
          <Conversation id={view.session.id} leaf={leaf} at={at} originals={originals} view={view} reload={reload} />
        </div>
        <TreePanel view={view} tree={tree} leaf={leaf ?? view.leafId} at={at} />
      </div>
    </>
  );
}

// Whichever message the address names, its branch is shown down to the newest leaf.
function useWholeBranch(leaf: string | null, leafId: string | null, { nodes, readTo, leafBelow }: Tree): void {
  useEffect(() => {
    if (leaf !== null) void readTo(leaf);
  }, [leaf, readTo]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with each page of the tree, the leaf may be another one.
  useEffect(() => {
    const found = leaf === null ? null : leafBelow(leaf);
    if (found === null || (found === leaf && found !== leafId)) return;
    navigate(linkHere({ leaf: found === leafId ? null : found }), { replace: true });
  }, [leaf, leafId, nodes, leafBelow]);
}
