export { StemmaChatMessageHistory } from "./adapters/langchain/chat-history.js";
