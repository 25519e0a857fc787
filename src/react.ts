"use client";

/** For React applications whose chats `chatHandler` serves. */
export type { ChatRoutesOptions } from "./react/chat-routes.js";
export { type ChatTree, type ChatTreeOptions, type Siblings, useChatTree } from "./react/use-chat-tree.js";
