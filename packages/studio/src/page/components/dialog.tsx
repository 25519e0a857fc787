import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api-client.js";
import { asApiError } from "../hooks/use-resource.js";
import { Failure } from "./failure.js";
import { Icon, type IconName } from "./icons.js";

interface Props {
  readonly title: string;
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

interface MenuProps {
  readonly label: string;
  readonly icon?: IconName;
  readonly text?: string;
  readonly children: ComponentChildren;
}

/** A button that opens a short list of links and buttons. It closes on Escape, on a choice and on a click elsewhere. */
export function Menu({ label, icon, text, children }: MenuProps) {
  const element = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  // Where there is no room below, it opens upwards.
  useLayoutEffect(() => {
    const items = isOpen ? element.current?.querySelector(".menu-items") : null;
    items?.classList.toggle("is-above", items.getBoundingClientRect().bottom > innerHeight);
  }, [isOpen]);
  useEffect(() => {
    const closeOutside = (event: Event) => {
      const menu = element.current;
      if (menu?.open === true && !menu.contains(event.target as Node)) menu.open = false;
    };
    document.addEventListener("pointerdown", closeOutside);
    return () => document.removeEventListener("pointerdown", closeOutside);
  }, []);
  const close = () => {
    if (element.current !== null) element.current.open = false;
  };
  const closeOnEscape = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || element.current?.open !== true) return;
    event.stopPropagation();
    close();
    element.current.querySelector("summary")?.focus();
  };
  return (
    <details
      class="menu"
      ref={element}
      onToggle={() => setOpen(element.current?.open === true)}
      onKeyDown={closeOnEscape}
    >
      <summary aria-label={text === undefined ? label : undefined} title={label}>
        {text}
        {icon && <Icon name={icon} />}
      </summary>
      {isOpen && (
        // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: a choice below closes it.
        <div class="menu-items" onClick={close}>
          {children}
        </div>
      )}
    </details>
  );
}
