import type { MemoryOwner } from "../../api.js";
import { ownerQuery } from "../api-client.js";
import { Empty } from "../components/empty.js";
import { Failure } from "../components/failure.js";
import { Loading } from "../components/loading.js";
import { useResource } from "../hooks/use-resource.js";
import { linkTo } from "../location.js";
import type { Place } from "../router.js";
import { BlockDetail } from "./block-detail.js";
import { CollectionDetail } from "./collection-detail.js";
import { MemoryList } from "./memory-list.js";
import { Skills } from "./skills.js";

/** An owner's blocks and entries, and one of them in full. */
export function OwnerMemory({ owner, place }: { readonly owner: MemoryOwner; readonly place: Place }) {
  const { data: memory, error, reload } = useResource("memory", ownerQuery(owner));
  if (error !== null && memory === null) return <Failure error={error} retry={reload} />;
  if (memory === null) return <Loading />;
  const first = memory.blocks[0]?.label ?? memory.collections[0]?.label ?? null;
  const wanted = place.query.get("label") ?? first;
  const isWanted = ({ label }: { label: string }) => label.toUpperCase() === wanted?.toUpperCase();
  const block = memory.blocks.find(isWanted);
  const collection = memory.collections.find(isWanted);
  return (
    <div class="memory-body">
      <aside class="memory-list" aria-label="Blocks and entries">
        <MemoryList owner={owner} memory={memory} shown={block?.label ?? collection?.label ?? null} />
        {"session" in owner && <Skills session={owner.session} />}
      </aside>
      <div class="memory-main">
        {block && <BlockDetail key={block.label} owner={owner} block={block} place={place} reload={reload} />}
        {collection && <CollectionDetail key={collection.label} owner={owner} collection={collection} place={place} />}
        {first === null && (
          <Empty title="Nothing is remembered here yet.">
            {"session" in owner && (
              <>
                Blocks appear here once they are written. A user's blocks stand at the user:{" "}
                <a href={linkTo("/memory")}>all owners</a>.
              </>
            )}
          </Empty>
        )}
        {first !== null && block === undefined && collection === undefined && (
          <Empty title={`There is no block or collection "${wanted}" here.`}>
            It may be empty, or belong to another owner: <a href={linkTo("/memory")}>all owners</a>.
          </Empty>
        )}
      </div>
    </div>
  );
}
