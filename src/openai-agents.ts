export { type OpenaiAgentsSession, openaiAgentsSession } from "./adapters/openai-agents/session.js";
