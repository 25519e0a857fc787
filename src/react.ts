"use client";

/** For React applications whose chats `chatHandler` serves. */
export type { ChatRoutesOptions } from "./react/chat-routes.js";
export type { ChatTree, ChatTreeOptions, Siblings } from "./react/chat-tree.js";
export { useChatTree } from "./react/use-chat-tree.js";
