import { FoldVertical } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useChatTree } from "stemma/react";
import { StickToBottom } from "use-stick-to-bottom";
import { compact, useChats } from "../api";
import { Composer } from "./composer";
import { Failure } from "./failure";
import { Transcript } from "./transcript";
import { useFreshness } from "./use-freshness";
import { useGoTo } from "./use-go-to";
import { useReconnect } from "./use-reconnect";
import { Welcome } from "./welcome";

const NOTE_FOR = 4000;

interface ChatProps {
  id: string;
  /** It begins here: nothing of it is stored. */
  isNew: boolean;
  user: string;
  model: string | null;
  /** A message to go to, whichever branch it is on. */
  target: string | null;
  onFound: () => void;
  /** The first message was sent. */
  onStarted: () => void;
  left: ReactNode;
  right: ReactNode;
}

export function Chat({ id, isNew, user, model, target, onFound, onStarted, left, right }: ChatProps) {
  const chat = useChatTree({ id, isNew, throttle: 30 });
  const { messages, status, isLoading } = chat;
  const isBusy = status === "submitted" || status === "streaming";
  const [note, setNote] = useState("");
  const name = useChats().data?.chats.find((each) => each.id === id)?.name || "New chat";
  const own = useFreshness(chat, id);
  const { isLost, failure } = useReconnect(chat);
  const marked = useGoTo(chat, target, onFound);

  useEffect(() => {
    document.title = `${name} · Stemma`;
  }, [name]);

  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === "Escape" && isBusy) void chat.stop();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [chat.stop, isBusy]);

  const send = (text: string) => {
    setNote("");
    onStarted();
    own(chat.sendMessage({ text }));
  };
  useEffect(() => {
    if (note === "") return;
    const timer = setTimeout(() => setNote(""), NOTE_FOR);
    return () => clearTimeout(timer);
  }, [note]);
  const summarise = async () => {
    const isMade = await compact(id).catch(() => false);
    setNote(isMade ? "" : "There is nothing to summarise yet.");
    if (isMade) await chat.reload();
  };

  return (
    <main className="chat">
      <header>
        {left}
        <h1>{name}</h1>
        <button
          type="button"
          className="icon"
          onClick={() => void summarise()}
          disabled={isBusy || messages.length === 0}
          title="Summarise older messages for the model"
        >
          <FoldVertical aria-hidden />
          <span className="unseen">Summarise older messages for the model</span>
        </button>
        {right}
      </header>
      {messages.length === 0 && !isLoading ? (
        <Welcome user={user} isOffline={model === null} onPick={send} />
      ) : (
        <StickToBottom className="scroller" initial="instant" resize="smooth">
          <Transcript chat={chat} marked={marked} own={own} />
        </StickToBottom>
      )}
      <div className="bottom">
        {isLost ? (
          <p className="notice">The connection was lost. Trying again …</p>
        ) : (
          <Failure chat={chat} text={failure} own={own} />
        )}
        {note === "" ? null : <p className="notice">{note}</p>}
        <Composer isBusy={isBusy} onSend={send} onStop={() => void chat.stop()} />
      </div>
    </main>
  );
}
