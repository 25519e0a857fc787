import { useState } from "preact/hooks";
import type { EntryView, MemoryOwner } from "../../api.js";
import { type ApiError, write } from "../api-client.js";
import { Failure } from "../components/failure.js";
import { asApiError } from "../hooks/use-resource.js";

interface Props {
  readonly owner: MemoryOwner;
  readonly label: string;
  readonly entryKey: string;
  readonly entry: NonNullable<EntryView["entry"]>;
  readonly saved: () => void;
  readonly close: () => void;
}

const dayIn = (iso: string | null) => iso?.slice(0, 10) ?? "";

/** Edits an entry. What somebody else wrote meanwhile is not written over. */
export function EntryEditor({ owner, label, entryKey, entry, saved, close }: Props) {
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
