import { useInfo } from "../api-client.js";
import { type Theme, useTheme } from "../hooks/use-theme.js";
import { linkTo, navigate } from "../location.js";
import type { Place } from "../router.js";
import { Icon, type IconName } from "./icons.js";

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

const NEXT: Readonly<Record<Theme, { readonly theme: Theme; readonly icon: IconName; readonly name: string }>> = {
  system: { theme: "light", icon: "system", name: "as the system" },
  light: { theme: "dark", icon: "sun", name: "light" },
  dark: { theme: "system", icon: "moon", name: "dark" },
};

/** Goes through the themes: as the system, light, dark. */
function ThemeSwitch() {
  const [theme, choose] = useTheme();
  const { icon, name, theme: next } = NEXT[theme];
  const label = `Theme: ${name}. Change to ${NEXT[next].name}.`;
  return (
    <button type="button" class="quiet" title={label} aria-label={label} onClick={() => choose(next)}>
      <Icon name={icon} />
    </button>
  );
}
