export { type OpenaiAgentsSession, openaiAgentsSession } from "./agents-session.js";
