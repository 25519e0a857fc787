import { useState } from "preact/hooks";
import type { MemoryBlock, MemoryOwner } from "../../api.js";
import { type ApiError, useInfo, write } from "../api-client.js";
import { Time } from "../components/fact.js";
import { Failure } from "../components/failure.js";
import { LongText } from "../components/long-text.js";
import { DifferenceView } from "../difference/difference-view.js";
import { count } from "../format.js";
import { asApiError } from "../hooks/use-resource.js";
import type { Place } from "../router.js";
import { Versions } from "./versions.js";

interface Props {
  readonly owner: MemoryOwner;
  readonly block: MemoryBlock;
  readonly place: Place;
  readonly reload: () => void;
}

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

interface BlockEditorProps {
  readonly owner: MemoryOwner;
  /** As it was when the editor opened. */
  readonly block: MemoryBlock;
  readonly reload: () => void;
  readonly close: () => void;
}

/** Edits a block. When somebody else wrote it meanwhile, both texts are shown and nothing is written. */
function BlockEditor({ owner, block, reload, close }: BlockEditorProps) {
  const { label } = block;
  const [base] = useState(block);
  const [text, setText] = useState(block.content);
  const [other, setOther] = useState<MemoryBlock | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isSaving, setSaving] = useState(false);

  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    setSaving(true);
    setError(null);
    try {
      await write("edit-block", { owner, label, content: text, expectedVersion: (other ?? base).version });
      reload();
      close();
    } catch (fault) {
      const error = asApiError(fault);
      if (error.details === undefined) setError(error);
      else setOther(error.details.block);
      setSaving(false);
    }
  };
  return (
    <form class="block-editor" onSubmit={save}>
      <textarea
        value={text}
        rows={Math.min(24, Math.max(8, text.split("\n").length + 1))}
        aria-label={`Text of ${label}`}
        onInput={(event) => setText(event.currentTarget.value)}
        dir="auto"
      />
      {error && <Failure error={error} />}
      {other && (
        <div class="conflict" role="alert">
          <p>
            <strong>The block was written meanwhile.</strong> It is at version {other.version}; you began with version{" "}
            {base.version}. Nothing of yours was saved yet. Compare, take over what you need, and save again.
          </p>
          <DifferenceView before={other.content} after={text} names={[`Present, version ${other.version}`, "Yours"]} />
        </div>
      )}
      <div class="dialog-buttons">
        <button type="button" onClick={close}>
          Cancel
        </button>
        {other && (
          <button type="button" onClick={() => setText(other.content)}>
            Start from the present text
          </button>
        )}
        <button type="submit" class="primary" disabled={isSaving}>
          {other ? `Save over version ${other.version}` : "Save"}
        </button>
      </div>
    </form>
  );
}
