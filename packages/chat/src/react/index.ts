export type { ChatRoutesOptions, ChatTree, ChatTreeOptions, Siblings } from "./chat-tree.js";
export { useChatTree } from "./use-chat-tree.js";
