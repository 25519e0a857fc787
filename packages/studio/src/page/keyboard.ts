/** The keys that work on every page. `Escape` leaves a field; menus and dialogs hear it themselves. */
export function listenToKeys(showKeys: () => void): () => void {
  const hear = (event: KeyboardEvent) => {
    if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
    const target = event.target as HTMLElement;
    if (isField(target)) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (document.querySelector("dialog[open]") !== null) return;
    if (act(event.key, showKeys)) event.preventDefault();
  };
  document.addEventListener("keydown", hear);
  return () => document.removeEventListener("keydown", hear);
}

function act(key: string, showKeys: () => void): boolean {
  switch (key) {
    case "/":
      return focusSearch();
    case "?":
      showKeys();
      return true;
    case "j":
      return moveFocus(1);
    case "k":
      return moveFocus(-1);
    case "ArrowLeft":
      return chooseSibling("previous");
    case "ArrowRight":
      return chooseSibling("next");
    case "Escape":
      (document.activeElement as HTMLElement | null)?.blur();
      return true;
    default:
      return false;
  }
}

function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>("main [data-search], [data-search]");
  field?.focus();
  field?.select();
  return field !== null;
}

function moveFocus(step: 1 | -1): boolean {
  const active = document.activeElement?.closest<HTMLElement>("[data-item]") ?? null;
  const list = active?.closest("[data-items]") ?? document.querySelector("main [data-items]");
  const items = [...(list?.querySelectorAll<HTMLElement>("[data-item]") ?? [])];
  const next = active === null ? firstInView(items) : items[items.indexOf(active) + step];
  if (next === undefined) return false;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function firstInView(items: readonly HTMLElement[]): HTMLElement | undefined {
  return items.find((item) => item.getBoundingClientRect().bottom > 120) ?? items[0];
}

function chooseSibling(which: "previous" | "next"): boolean {
  const item = document.activeElement?.closest("[data-item]");
  const link = item?.querySelector<HTMLElement>(`[data-sibling="${which}"]`);
  link?.click();
  return link !== null && link !== undefined;
}

function isField(element: HTMLElement): boolean {
  return element.matches("input, textarea, select") || element.isContentEditable;
}
