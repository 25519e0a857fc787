import { ArrowUp, Square } from "lucide-react";
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { GrowingText } from "./growing-text";

interface ComposerProps {
  isBusy: boolean;
  onSend: (text: string) => void;
  onStop: () => void;
}

export function Composer({ isBusy, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState("");
  /** It is sent when the answer that is being written has ended. */
  const [isWaiting, setWaiting] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const send = (event?: FormEvent) => {
    event?.preventDefault();
    if (text.trim() === "") return;
    setWaiting(isBusy);
    if (isBusy) return;
    onSend(text.trim());
    setText("");
    field.current?.focus();
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is in the field when the answer ends is sent.
  useEffect(() => {
    if (isWaiting && !isBusy) send();
  }, [isWaiting, isBusy]);
  const press = (event: KeyboardEvent) => {
    // Whoever composes a character of an Eastern script ends it with Enter.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form className="composer" onSubmit={send}>
      {isWaiting ? (
        <p className="waiting">
          <span role="status">This is sent when the answer has ended.</span>
          <button type="button" onClick={() => setWaiting(false)}>
            Do not send
          </button>
        </p>
      ) : null}
      <GrowingText
        value={text}
        onChange={setText}
        onKeyDown={press}
        label="Message"
        placeholder="Write a message"
        place={field}
        isFocused
      />
      {/* With keys they are two buttons: whoever presses Stop as the answer ends does not send what is typed. */}
      {isBusy ? (
        <button key="stop" type="button" className="round" onClick={onStop} title="Stop (Esc)">
          <Square aria-hidden fill="currentColor" />
          <span className="unseen">Stop</span>
        </button>
      ) : (
        <button key="send" type="submit" className="round" disabled={text.trim() === ""} title="Send (Enter)">
          <ArrowUp aria-hidden />
          <span className="unseen">Send</span>
        </button>
      )}
    </form>
  );
}
