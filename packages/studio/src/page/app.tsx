import type { FunctionComponent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Info } from "./api-client.js";
import { Empty, Failure } from "./components/failure.js";
import { KeyHelp } from "./components/key-help.js";
import { TopBar } from "./components/top-bar.js";
import { useResource } from "./hooks/use-resource.js";
import { listenToKeys } from "./keyboard.js";
import { linkTo, usePlace } from "./location.js";
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

/** The bar above, and the page that the address names. */
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
