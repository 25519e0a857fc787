import type { FunctionComponent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Info, useInfo } from "./api-client.js";
import { Empty, Failure } from "./components/failure.js";
import { Icon, type IconName } from "./components/icons.js";
import { useResource } from "./hooks/use-resource.js";
import { type Theme, useTheme } from "./hooks/use-theme.js";
import { listenToKeys } from "./keyboard.js";
import { linkTo, navigate, usePlace } from "./location.js";
import { ContextPage } from "./pages/context.js";
import { MemoryPage } from "./pages/memory.js";
import { SearchPage } from "./pages/search.js";
import { SessionPage } from "./pages/session.js";
import { SessionsPage } from "./pages/sessions.js";
import { UsagePage } from "./pages/usage.js";
import type { Place } from "./router.js";

const PAGES: Readonly<Record<string, { readonly title: string; readonly Page: FunctionComponent<{ place: Place }> }>> =
  {
    "/": { title: "Sessions", Page: SessionsPage },
    "/search": { title: "Search", Page: SearchPage },
    "/session": { title: "Session", Page: SessionPage },
    "/context": { title: "Context", Page: ContextPage },
    "/memory": { title: "Memory", Page: MemoryPage },
    "/usage": { title: "Usage", Page: UsagePage },
  };

export function App() {
  const place = usePlace();
  const info = useResource("info", {});
  const [showsKeys, setShowsKeys] = useState(false);
  const main = useRef<HTMLElement>(null);
  const page = PAGES[place.path];
  useEffect(() => listenToKeys(() => setShowsKeys(true)), []);
  // A screen reader goes on at the new page, and not at the link that is gone.
  useEffect(() => {
    document.title = `${page?.title ?? "Not found"} · Stemma`;
    main.current?.focus({ preventScroll: true });
  }, [page]);
  return (
    <Info.Provider value={info.data}>
      <TopBar place={place} />
      <main ref={main} tabIndex={-1}>
        {info.error && <Failure error={info.error} retry={info.reload} />}
        {page ? (
          // Another session is another page, so that nothing of the one before shows in it.
          <page.Page key={`${place.path} ${place.query.get("id") ?? ""}`} place={place} />
        ) : (
          <Empty title="There is no such page.">
            <a href={linkTo("/")}>Show the sessions</a>
          </Empty>
        )}
      </main>
      {showsKeys && <KeyHelp close={() => setShowsKeys(false)} />}
    </Info.Provider>
  );
}

const KEYS = [
  ["/", "Go to the search"],
  ["j", "Next row or message"],
  ["k", "Row or message before"],
  ["Enter", "Open the row"],
  ["← →", "Sibling before or behind, on a message"],
  ["Esc", "Leave a field, close what is open"],
  ["?", "Show these keys"],
] as const;

function KeyHelp({ close }: { readonly close: () => void }) {
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

const TABS = [
  { path: "/", name: "Sessions", also: ["/session", "/context"] },
  { path: "/search", name: "Search", also: [] },
  { path: "/memory", name: "Memory", also: [] },
  { path: "/usage", name: "Usage", also: [] },
] as const;

/** The bar above every page: where to go, the search, and what the studio is opened on. */
function TopBar({ place }: { readonly place: Place }) {
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
