import { Brain, PanelLeft } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useLocation, useRoute, useSearchParams } from "wouter";
import { useMe } from "./api";
import { Chat } from "./chat/chat";
import { MemoryPage } from "./memory/memory-page";
import { MemoryPanel } from "./memory/memory-panel";
import { SideBar } from "./side-bar/side-bar";
import { SignIn } from "./sign-in";

export function App() {
  const { data: me, error } = useMe();
  if (error) return <p className="page-note">The server does not answer. Is it running?</p>;
  if (me === undefined) return null;
  if (me.user === null) return <SignIn />;
  return <Desk key={me.user} user={me.user} model={me.model} />;
}

type Drawer = "chats" | "memory" | null;

function Desk({ user, model }: { user: string; model: string | null }) {
  const [, params] = useRoute("/chat/:id");
  const [path, navigate] = useLocation();
  const [search] = useSearchParams();
  const [draft, setDraft] = useState(() => crypto.randomUUID() as string);
  const [drawer, setDrawer] = useState<Drawer>(null);
  const chatId = params?.id ?? draft;
  const target = search.get("message");
  const isMemory = path === "/memory";
  const lastChat = useRef("/");
  if (!isMemory) lastChat.current = path;

  const begin = () => {
    setDraft(crypto.randomUUID());
    navigate("/");
    setDrawer(null);
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever went somewhere wants to see it.
  useEffect(() => setDrawer(null), [path, target]);

  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === "Escape" && drawer !== null) {
        // In the chat it would stop the answer.
        event.stopImmediatePropagation();
        setDrawer(null);
      }
      const isNew = (event.ctrlKey || event.metaKey) && event.shiftKey && event.key.toLowerCase() === "o";
      const isSearch = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
      if (!isNew && !isSearch) return;
      event.preventDefault();
      if (isNew) document.getElementById("new-chat")?.click();
      else setDrawer("chats");
      if (isSearch) document.getElementById("search")?.focus();
    };
    window.addEventListener("keydown", press, true);
    return () => window.removeEventListener("keydown", press, true);
  }, [drawer]);

  const toChats = (
    <button type="button" className="icon only-narrow" onClick={() => setDrawer("chats")}>
      <PanelLeft aria-hidden />
      <span className="unseen">Chats</span>
    </button>
  );
  return (
    <div className="desk" data-drawer={drawer ?? "none"} data-page={isMemory ? "memory" : "chat"}>
      <SideBar user={user} chatId={isMemory ? "" : chatId} onNew={begin} />
      <div className="stage">
        {isMemory ? (
          <MemoryPage left={toChats} back={lastChat.current} />
        ) : (
          <Chat
            key={chatId}
            id={chatId}
            isNew={params === null}
            user={user}
            model={model}
            target={target}
            onFound={() => navigate(`/chat/${chatId}`, { replace: true })}
            onStarted={() => {
              if (params === null) navigate(`/chat/${chatId}`, { replace: true });
            }}
            left={toChats}
            right={
              <button type="button" className="icon only-narrower" onClick={() => setDrawer("memory")}>
                <Brain aria-hidden />
                <span className="unseen">Memory</span>
              </button>
            }
          />
        )}
      </div>
      {isMemory ? null : <MemoryPanel onClose={() => setDrawer(null)} />}
      <button type="button" className="veil" aria-label="Close" tabIndex={-1} onClick={() => setDrawer(null)} />
    </div>
  );
}
