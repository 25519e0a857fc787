export { StemmaChatMessageHistory } from "@stemma/adapters/langchain";
