import type { SessionView, StudioWrites } from "../../api.js";
import { ApiError, write } from "../api-client.js";
import { counted } from "../format.js";
import { linkTo, navigate } from "../location.js";
import { Dialog } from "./dialog.js";

export type SessionWrite = keyof StudioWrites & ("rename" | "compact" | "delete-session");

interface Props {
  readonly name: SessionWrite;
  readonly view: SessionView;
  readonly reload: () => void;
  readonly close: () => void;
}

/** Asks before a session is changed, and changes it. */
export function SessionDialog({ name, view, reload, close }: Props) {
  const { session, stored } = view;
  const id = session.id;
  switch (name) {
    case "rename":
      return (
        <Dialog
          title="Rename the session"
          action="Rename"
          run={(fields) => write("rename", { id, name: String(fields.get("name")) }).then(reload)}
          close={close}
        >
          <label class="field">
            <span>Title</span>
            <input name="name" defaultValue={session.name} />
          </label>
        </Dialog>
      );
    case "compact":
      return (
        <Dialog title="Compact the session now?" action="Compact" run={() => compact(id).then(reload)} close={close}>
          <p>
            Older messages are summarised by the program's compaction function. They stay stored beneath the summary.
          </p>
        </Dialog>
      );
    default:
      return (
        <Dialog
          title="Delete the session?"
          action="Delete the session"
          isDangerous
          run={() => write("delete-session", { id }).then(() => navigate(linkTo("/")))}
          close={close}
        >
          <p>
            <bdi>{session.name || id}</bdi> is removed for good, with {counted(stored, "message")}, its summaries and
            its blocks.
          </p>
        </Dialog>
      );
  }
}

async function compact(id: string): Promise<void> {
  const { compacted } = await write<"compact", { compacted: boolean }>("compact", { id });
  if (!compacted) throw new ApiError("NOTHING_TO_COMPACT", "There was nothing to summarise.");
}
