import { useState } from "preact/hooks";
import type { EntryView, MemoryOwner } from "../../api.js";
import { type ApiError, ownerQuery, useInfo, write } from "../api-client.js";
import { Dialog } from "../components/dialog.js";
import { Fact, Time } from "../components/fact.js";
import { Failure, Loading } from "../components/failure.js";
import { LongText } from "../components/long-text.js";
import { asApiError, useResource } from "../hooks/use-resource.js";
import { linkHere, linkTo } from "../location.js";
import { spanOf, subjectOf } from "./subjects.js";
import { Versions } from "./versions.js";

interface Props {
  readonly owner: MemoryOwner;
  readonly label: string;
  readonly entryKey: string;
  /** The version of which the difference is shown; null for the newest. */
  readonly version: string | null;
  /** Reads the list anew. */
  readonly reload: () => void;
}

/** An entry in full: since when it holds, where it comes from, and its versions. */
export function EntryDetail({ owner, label, entryKey, version, reload }: Props) {
  const info = useInfo();
  const { data, error, ...view } = useResource("entry", { ...ownerQuery(owner), label, entry: entryKey });
  const [isEditing, setEditing] = useState(false);
  const [isForgetting, setForgetting] = useState(false);
  const changed = () => {
    view.reload();
    reload();
  };
  const entry = data?.entry ?? null;
  const lastVersion = data?.lastVersion ?? null;
  const undo = () => write("restore-version", { owner, label, key: entryKey, version: lastVersion ?? 0 }).then(changed);
  return (
    <>
      <section class="panel">
        <div class="panel-head">
          <h2>
            <bdi>{entryKey}</bdi>
          </h2>
          {entry && <span class="quiet-number">{spanOf(entry)}</span>}
          {info?.canWrite && entry && !isEditing && (
            <div class="entry-actions">
              <button type="button" onClick={() => setEditing(true)}>
                Edit
              </button>
              <button type="button" onClick={() => setForgetting(true)}>
                Forget…
              </button>
            </div>
          )}
        </div>
        {error && <Failure error={error} retry={view.reload} />}
        {data === null && !error && <Loading />}
        {data && entry === null && (
          <p class="nothing" role="status">
            The entry was removed.{" "}
            {info?.canWrite && lastVersion !== null && (
              <button type="button" onClick={() => void undo()}>
                Undo
              </button>
            )}
          </p>
        )}
        {entry && isEditing && (
          <EntryEditor
            owner={owner}
            label={label}
            entryKey={entryKey}
            entry={entry}
            saved={changed}
            close={() => setEditing(false)}
          />
        )}
        {entry && !isEditing && <LongText text={entry.content} label={`Entry ${entryKey}`} />}
        {data && entry && <About entry={entry} message={data.message} />}
      </section>
      <Versions
        owner={owner}
        label={label}
        entry={entryKey}
        known={`${entry?.updatedAt} ${entry?.content}`}
        shown={version}
        reload={changed}
      />
      {isForgetting && (
        <Dialog
          title="Forget this entry?"
          action="Forget it"
          isDangerous
          run={() => write("forget-entry", { owner, label, key: entryKey }).then(changed)}
          close={() => setForgetting(false)}
        >
          <p>
            <bdi>{entryKey}</bdi> is removed, and what it took the place of holds again. Its versions stay, so that it
            can be restored, and learning does not bring it back.
          </p>
        </Dialog>
      )}
    </>
  );
}

type Entry = NonNullable<EntryView["entry"]>;

function About({ entry, message }: { readonly entry: Entry; readonly message: EntryView["message"] }) {
  const subject = subjectOf(entry);
  return (
    <dl class="facts entry-facts">
      {message && (
        <Fact
          name="From"
          value={
            <a href={linkTo("/session", { id: message.sessionId, at: message.messageId })}>
              message {message.messageId}
            </a>
          }
        />
      )}
      {subject !== "" && <Fact name="Subject" value={subject} />}
      {entry.origin !== null && <Fact name="Origin" value={entry.origin} />}
      {entry.supersedes.length > 0 && <Fact name="Takes the place of" value={<Keys keys={entry.supersedes} />} />}
      {entry.supersededBy.length > 0 && <Fact name="Ended by" value={<Keys keys={entry.supersededBy} />} />}
      <Fact name="First stored" value={<Time at={entry.createdAt} />} />
    </dl>
  );
}

function Keys({ keys }: { readonly keys: readonly string[] }) {
  return (
    <>
      {keys.map((key, index) => (
        <>
          {index > 0 && ", "}
          <a href={linkHere({ entry: key, version: null })}>{key}</a>
        </>
      ))}
    </>
  );
}

interface EditorProps {
  readonly owner: MemoryOwner;
  readonly label: string;
  readonly entryKey: string;
  readonly entry: NonNullable<EntryView["entry"]>;
  readonly saved: () => void;
  readonly close: () => void;
}

const dayIn = (iso: string | null) => iso?.slice(0, 10) ?? "";

/** Edits an entry. What somebody else wrote meanwhile is not written over. */
function EntryEditor({ owner, label, entryKey, entry, saved, close }: EditorProps) {
  const [base] = useState(entry);
  const [error, setError] = useState<ApiError | null>(null);
  const [isSaving, setSaving] = useState(false);
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const textOf = (name: string) => String(fields.get(name));
    // A time of the day that is stored stays.
    const day = (name: "validFrom" | "validTo") =>
      textOf(name) === dayIn(base[name]) ? {} : { [name]: textOf(name) || null };
    setSaving(true);
    setError(null);
    try {
      const times = { ...day("validFrom"), ...day("validTo") };
      const content = textOf("content");
      await write("edit-entry", { owner, label, key: entryKey, content, ...times, expectedContent: base.content });
      saved();
      close();
    } catch (fault) {
      setError(asApiError(fault));
      setSaving(false);
    }
  };
  return (
    <form class="block-editor" onSubmit={save}>
      <textarea
        name="content"
        defaultValue={base.content}
        rows={Math.min(24, Math.max(4, base.content.split("\n").length + 1))}
        aria-label={`Text of ${entryKey}`}
        required
        dir="auto"
      />
      <div class="entry-times">
        <label>
          Since <input type="date" name="validFrom" defaultValue={dayIn(base.validFrom)} />
        </label>
        <label>
          Until <input type="date" name="validTo" defaultValue={dayIn(base.validTo)} />
        </label>
      </div>
      {error && <Failure error={error} />}
      <div class="dialog-buttons">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={isSaving}>
          Save
        </button>
      </div>
    </form>
  );
}
