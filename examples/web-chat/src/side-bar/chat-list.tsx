import { Trash2 } from "lucide-react";
import type { ChatInfo } from "stemma/ai-sdk";
import { Link } from "wouter";
import { deleteChat, useChats } from "../api";
import { dayOf } from "../times";

interface ChatListProps {
  chatId: string;
  onNew: () => void;
}

export function ChatList({ chatId, onNew }: ChatListProps) {
  const { data } = useChats();
  if (data === undefined) return <nav className="chats" />;
  if (data.chats.length === 0) return <p className="hint">Your chats will be listed here.</p>;
  const remove = async ({ id, name }: ChatInfo) => {
    if (!window.confirm(`Delete “${name}”? Its messages cannot be brought back. What was remembered of you stays.`))
      return;
    await deleteChat(id);
    if (id === chatId) onNew();
  };
  return (
    <nav className="chats" aria-label="Your chats">
      {byDay(data.chats).map(([day, chats]) => (
        <section key={day}>
          <h2>{day}</h2>
          <ul>
            {chats.map((chat) => (
              <li key={chat.id} className={chat.id === chatId ? "current" : undefined}>
                <Link href={`/chat/${chat.id}`} aria-current={chat.id === chatId ? "page" : undefined}>
                  {chat.name || "New chat"}
                </Link>
                <button type="button" className="icon small" onClick={() => void remove(chat)} title="Delete">
                  <Trash2 aria-hidden />
                  <span className="unseen">Delete {chat.name}</span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

function byDay(chats: readonly ChatInfo[]): [string, ChatInfo[]][] {
  return [...Map.groupBy(chats, ({ updatedAt }) => dayOf(updatedAt))];
}
