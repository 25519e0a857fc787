import { useEffect, useRef } from "react";

const channel = new BroadcastChannel("chats");

/** Tells the other tabs of this browser that a chat was written to. */
export function tellTabs(chatId: string): void {
  channel.postMessage(chatId);
}

/** Calls `listener` with the id of each chat that another tab wrote to. */
export function useOtherTabs(listener: (chatId: string) => void): void {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    const hear = ({ data }: MessageEvent) => latest.current(String(data));
    channel.addEventListener("message", hear);
    return () => channel.removeEventListener("message", hear);
  }, []);
}
