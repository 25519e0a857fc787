export { StemmaChatMessageHistory } from "./chat-history.js";
