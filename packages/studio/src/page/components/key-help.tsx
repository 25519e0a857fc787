import { useEffect, useRef } from "preact/hooks";

const KEYS = [
  ["/", "Go to the search"],
  ["j", "Next row or message"],
  ["k", "Row or message before"],
  ["Enter", "Open the row"],
  ["← →", "Sibling before or behind, on a message"],
  ["Esc", "Leave a field, close what is open"],
  ["?", "Show these keys"],
] as const;

export function KeyHelp({ close }: { readonly close: () => void }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} class="dialog" aria-label="Keys" onClose={close}>
      <h2>Keys</h2>
      <dl class="keys">
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <div class="dialog-buttons">
        <button type="button" class="primary" onClick={() => element.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}
