import { isToolUIPart } from "ai";
import { useCallback, useEffect, useRef } from "react";
import type { ChatTree } from "stemma/react";
import { refreshChats, refreshMemory } from "../api";
import { tellTabs, useOtherTabs } from "../tabs";

const LEARNING_TAKES = 700;

/**
 * Keeps the side bar and the memory as this chat changes them, and this chat as other tabs change it. What this tab writes is
 * given to the function that it returns.
 */
export function useFreshness(chat: ChatTree, chatId: string): (work: Promise<unknown>) => void {
  const { status, messages, reload } = chat;
  const isBusy = status === "submitted" || status === "streaming";
  const writes = useRef(0);

  useOtherTabs((changed) => {
    void refreshChats();
    void refreshMemory();
    if (changed === chatId) reload().catch(() => {});
  });

  // Another device may have written while nobody looked.
  const isBegun = messages.length > 0;
  useEffect(() => {
    const look = () => {
      if (isBegun && document.visibilityState === "visible") reload().catch(() => {});
    };
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [reload, isBegun]);

  // The first piece of an answer says that the question is stored.
  useEffect(() => {
    if (status === "submitted") return;
    void refreshChats();
    if (writes.current > 0) tellTabs(chatId);
  }, [status, chatId]);

  const done = (messages.at(-1)?.parts ?? []).filter((part) => isToolUIPart(part) && part.state === "output-available");
  // biome-ignore lint/correctness/useExhaustiveDependencies: each tool that has ended may have written.
  useEffect(() => {
    void refreshMemory();
    // The server learns when the answer has ended.
    const timer = setTimeout(() => void refreshMemory(), LEARNING_TAKES);
    return () => clearTimeout(timer);
  }, [done.length, isBusy]);

  return useCallback(
    (work) => {
      writes.current += 1;
      work
        // What it failed with is the chat's error.
        .catch(() => {})
        .finally(() => {
          tellTabs(chatId);
          writes.current -= 1;
        });
    },
    [chatId],
  );
}
