export { type OpenaiAgentsSession, openaiAgentsSession } from "@stemma/adapters/openai-agents";
