"use client";

/** For React applications whose chats `chatHandler` serves. */
export type { ChatRoutesOptions, ChatTree, ChatTreeOptions, Siblings } from "@stemma/chat/react";
export { useChatTree } from "@stemma/chat/react";
