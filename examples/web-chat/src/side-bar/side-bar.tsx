import { LogOut, Search, SquarePen, X } from "lucide-react";
import { type KeyboardEvent, useDeferredValue, useState } from "react";
import { signOut } from "../api";
import { ThemeButton } from "../theme";
import { ChatList } from "./chat-list";
import { Found } from "./found";

interface SideBarProps {
  user: string;
  chatId: string;
  onNew: () => void;
}

export function SideBar({ user, chatId, onNew }: SideBarProps) {
  const [query, setQuery] = useState("");
  const sought = useDeferredValue(query.trim());
  const leave = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || query === "") return;
    event.stopPropagation();
    setQuery("");
  };
  return (
    <aside className="side-bar" aria-label="Chats">
      <header>
        <img src="/icon.svg" alt="" width="22" height="22" />
        <strong>Stemma</strong>
        <button type="button" id="new-chat" className="icon" onClick={onNew} title="New chat (Ctrl+Shift+O)">
          <SquarePen aria-hidden />
          <span className="unseen">New chat</span>
        </button>
      </header>
      <search className="search">
        <Search aria-hidden />
        <input
          id="search"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
          onKeyDown={leave}
          placeholder="Search"
          aria-label="Search all chats"
        />
        {query === "" ? (
          <kbd>Ctrl K</kbd>
        ) : (
          <button type="button" className="icon small" onClick={() => setQuery("")}>
            <X aria-hidden />
            <span className="unseen">Clear the search</span>
          </button>
        )}
      </search>
      {sought === "" ? <ChatList chatId={chatId} onNew={onNew} /> : <Found query={sought} />}
      <footer>
        <span className="avatar" aria-hidden>
          {[...user][0]?.toUpperCase()}
        </span>
        <span className="user">{user}</span>
        <ThemeButton />
        <button type="button" className="icon" onClick={() => void signOut()} title="Sign out">
          <LogOut aria-hidden />
          <span className="unseen">Sign out</span>
        </button>
      </footer>
    </aside>
  );
}
