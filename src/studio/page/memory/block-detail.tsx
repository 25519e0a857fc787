import { useState } from "preact/hooks";
import type { MemoryBlock, MemoryOwner } from "../../api.js";
import { LongText } from "../components/long-text.js";
import { Time } from "../components/time.js";
import { count } from "../format.js";
import { useInfo } from "../info.js";
import type { Place } from "../router.js";
import { BlockEditor } from "./block-editor.js";
import { Versions } from "./versions.js";

interface Props {
  readonly owner: MemoryOwner;
  readonly block: MemoryBlock;
  readonly place: Place;
  readonly reload: () => void;
}

/** A block as it is, and its versions. */
export function BlockDetail({ owner, block, place, reload }: Props) {
  const info = useInfo();
  const [isEditing, setEditing] = useState(false);
  return (
    <>
      <section class="panel">
        <div class="panel-head">
          <h2>
            <bdi>{block.label}</bdi>
          </h2>
          <span class="quiet-number">
            version {block.version} · {count(block.tokens)} tokens · <Time at={block.updatedAt} />
          </span>
          {info?.canWrite && !isEditing && (
            <button type="button" onClick={() => setEditing(true)}>
              Edit
            </button>
          )}
        </div>
        {isEditing && <BlockEditor owner={owner} block={block} reload={reload} close={() => setEditing(false)} />}
        {!isEditing && block.content === "" && <p class="nothing">The block is empty.</p>}
        {!isEditing && block.content !== "" && <LongText text={block.content} label={`Block ${block.label}`} />}
      </section>
      <Versions
        owner={owner}
        label={block.label}
        entry={null}
        known={block.version}
        shown={place.query.get("version")}
        reload={reload}
      />
    </>
  );
}
