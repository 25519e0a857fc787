import { useInfo } from "../info.js";
import { linkTo, navigate } from "../location.js";
import type { Place } from "../router.js";
import { Icon } from "./icons.js";
import { ThemeSwitch } from "./theme-switch.js";

const TABS = [
  { path: "/", name: "Sessions", also: ["/session", "/context"] },
  { path: "/search", name: "Search", also: [] },
  { path: "/memory", name: "Memory", also: [] },
  { path: "/usage", name: "Usage", also: [] },
] as const;

/** The bar above every page: where to go, the search, and what the studio is opened on. */
export function TopBar({ place }: { readonly place: Place }) {
  const info = useInfo();
  return (
    <header class="top-bar">
      <a class="brand" href={linkTo("/")} aria-label="Stemma: all sessions">
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M8 15V1M8 12c-4 0-5-2-5-6M8 9c4 0 5-1.5 5-5" />
          <circle cx="3" cy="5" r="1.6" />
          <circle cx="13" cy="3" r="1.6" />
        </svg>
        <span>stemma</span>
      </a>
      <nav aria-label="Pages">
        {TABS.map(({ path, name, also }) => {
          const isHere = place.path === path || (also as readonly string[]).includes(place.path);
          return (
            <a key={path} href={linkTo(path)} aria-current={isHere ? "page" : undefined}>
              {name}
            </a>
          );
        })}
      </nav>
      {place.path !== "/search" && info?.canSearch !== false && <SearchField />}
      {info && (
        <span class="store" title={`stemma ${info.version}`}>
          {info.store}
          <span class={info.canWrite ? "badge warn" : "badge"}>{info.canWrite ? "can write" : "read only"}</span>
        </span>
      )}
      <ThemeSwitch />
    </header>
  );
}

function SearchField() {
  const search = (event: SubmitEvent) => {
    event.preventDefault();
    const q = String(new FormData(event.currentTarget as HTMLFormElement).get("q") ?? "");
    if (q.trim() !== "") navigate(linkTo("/search", { q }));
  };
  return (
    <search class="quick-search">
      <form onSubmit={search}>
        <Icon name="search" />
        <input type="search" name="q" placeholder="Search all messages" aria-label="Search all messages" data-search />
        <span class="key">/</span>
      </form>
    </search>
  );
}
