import { useEffect, useState } from "preact/hooks";
import { addressOf, changedQuery, type Place, placeOf, type Query } from "./router.js";

/** The path under which the studio stands, without a slash at its end. */
export const BASE = (document.querySelector<HTMLMetaElement>('meta[name="stemma-base"]')?.content ?? "").replace(
  /\/+$/,
  "",
);

const listeners = new Set<() => void>();
let isBack = false;

/** Somebody came by the browser's history: what they saw before is shown again as it was. */
export function isReturning(): boolean {
  return isBack;
}

/** The address of a page of the studio. */
export function linkTo(path: string, query: Query = {}): string {
  return addressOf(path, query, BASE);
}

/** The address of the present page with some values of its query replaced; null removes one. */
export function linkHere(changes: Query): string {
  const { path, query } = currentPlace();
  return linkTo(path, changedQuery(query, changes));
}

export function currentPlace(): Place {
  return placeOf(location.pathname + location.search, BASE);
}

/** Goes to an address of the studio. `replace` leaves no entry in the browser's history. */
export function navigate(address: string, options: { readonly replace?: boolean } = {}): void {
  if (address === location.pathname + location.search) return;
  isBack = false;
  if (options.replace === true) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  for (const listener of listeners) listener();
}

/** The present place; the component is drawn again when it changes. */
export function usePlace(): Place {
  const [place, setPlace] = useState(currentPlace);
  useEffect(() => {
    const update = () => setPlace(currentPlace());
    listeners.add(update);
    update();
    return () => {
      listeners.delete(update);
    };
  }, []);
  return place;
}

/** Lets links to the studio's pages change the address without loading the document again. */
export function followLinks(): void {
  addEventListener("popstate", () => {
    isBack = true;
    for (const listener of listeners) listener();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest("a");
    if (link === null || link.target !== "" || link.hasAttribute("download") || !isPage(link)) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}

function isPage(link: HTMLAnchorElement): boolean {
  if (link.origin !== location.origin || !link.hasAttribute("href")) return false;
  return link.pathname === BASE || link.pathname.startsWith(`${BASE}/`);
}
