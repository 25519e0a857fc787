"use client";

/** For React applications whose chats `chatHandler` serves. */
export type { ChatRoutesOptions, ChatTree, ChatTreeOptions, Siblings } from "./react/chat-tree.js";
export { useChatTree } from "./react/use-chat-tree.js";
