"use client";

import { type FormEvent, useState } from "react";
import { type ChatTree, useChatTree } from "stemma/react";

export function Chat({ id }: { id: string }) {
  const chat = useChatTree({ id });
  const [text, setText] = useState("");
  const isBusy = chat.status === "submitted" || chat.status === "streaming";
  const send = (event: FormEvent) => {
    event.preventDefault();
    chat.sendMessage({ text });
    setText("");
  };
  return (
    <main>
      {chat.messages.map((message) => (
        <Message key={message.id} chat={chat} message={message} />
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form onSubmit={send}>
        <input value={text} onChange={(event) => setText(event.target.value)} placeholder="Message" />
        {isBusy ? (
          <button type="button" onClick={() => chat.stop()}>
            Stop
          </button>
        ) : (
          <button type="submit">Send</button>
        )}
      </form>
    </main>
  );
}

function Message({ chat, message }: { chat: ChatTree; message: ChatTree["messages"][number] }) {
  const { index, count, previous, next } = chat.siblings(message.id);
  const text = message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const edit = () => {
    const changed = window.prompt("Ask instead", text);
    if (changed) chat.edit(message.id, changed);
  };
  return (
    <article>
      <p>
        <b>{message.role}</b> {text}
      </p>
      {count > 1 && (
        <nav>
          <button type="button" disabled={previous === null} onClick={() => previous && chat.select(previous)}>
            ‹
          </button>
          {index + 1}/{count}
          <button type="button" disabled={next === null} onClick={() => next && chat.select(next)}>
            ›
          </button>
        </nav>
      )}
      {message.role === "user" ? (
        <button type="button" onClick={edit}>
          Edit
        </button>
      ) : (
        <button type="button" onClick={() => chat.regenerate({ messageId: message.id })}>
          Again
        </button>
      )}
    </article>
  );
}
