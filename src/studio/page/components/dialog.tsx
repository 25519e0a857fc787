import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api-client.js";
import { asApiError } from "../hooks/use-resource.js";
import { Failure } from "./failure.js";

interface Props {
  readonly title: string;
  /** What the button says that does it. */
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly children?: ComponentChildren;
  /** Does it. The dialog closes when it is done; when it fails the dialog stays and says why. */
  readonly run: (fields: FormData) => Promise<unknown>;
  readonly close: () => void;
}

/** Asks before something is written. */
export function Dialog({ title, action, isDangerous = false, children, run, close }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isRunning, setRunning] = useState(false);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setRunning(true);
    setError(null);
    try {
      await run(new FormData(event.currentTarget as HTMLFormElement));
      close();
    } catch (fault) {
      setError(asApiError(fault));
      setRunning(false);
    }
  };
  return (
    <dialog ref={element} class="dialog" aria-label={title} onClose={close}>
      <form onSubmit={submit}>
        <h2>{title}</h2>
        {children}
        {error && <Failure error={error} />}
        <div class="dialog-buttons">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? "danger" : "primary"} disabled={isRunning}>
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
