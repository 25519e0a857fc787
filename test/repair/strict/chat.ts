// After platform.openai.com/docs (Chat completions), and what the prompt templates of open models raise exceptions for.
import { must } from "./refuse.js";

interface Message {
  readonly role: string;
  readonly content?: string | null | { type: string; text?: string }[];
  readonly tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  readonly tool_call_id?: string;
}

export function checkChat(body: Record<string, unknown>): void {
  const messages = body.messages as Message[];
  must(messages.length > 0, "messages: at least one message is required");
  const known = new Set<string>();
  let open = new Set<string>();
  for (const message of messages) {
    const { role, content, tool_calls = [], tool_call_id } = message;
    if (role === "tool") {
      must(open.delete(String(tool_call_id)), "messages with role 'tool' must be a response to a preceding message");
      must(typeof content === "string", "content: expected a string");
      continue;
    }
    must(open.size === 0, `An assistant message with 'tool_calls' must be followed by tool messages: ${[...open]}`);
    const empty = content === "" || content === null || content === undefined || content.length === 0;
    must(!empty || tool_calls.length > 0, `${role}: content must not be empty`);
    for (const call of tool_calls) {
      must(call.id.length > 0 && call.id.length <= 40, "tool_calls.id: string too long");
      must(!known.has(call.id), `Duplicate tool call id ${call.id}`);
      known.add(call.id);
      must(/^[a-zA-Z0-9_-]{1,64}$/.test(call.function.name), "function.name: string does not match pattern");
      must(typeof call.function.arguments === "string", "function.arguments: expected a string");
    }
    open = new Set(tool_calls.map(({ id }) => id));
  }
  must(open.size === 0, `An assistant message with 'tool_calls' must be followed by tool messages: ${[...open]}`);
}

/** The same behind a strict prompt template. */
export function checkTemplate(body: Record<string, unknown>): void {
  checkChat(body);
  const messages = body.messages as Message[];
  const rest = messages.slice(messages.findIndex(({ role }) => role !== "system"));
  must(!rest.some(({ role }) => role === "system"), "System message must be at the beginning.");
  must(rest[0]?.role === "user", "Conversation roles must begin with user.");
  must(rest.at(-1)?.role !== "assistant", "Expected last role User or Tool.");
  rest.forEach(({ role, content }, index) => {
    must(role === "tool" || role !== rest[index + 1]?.role, "Conversation roles must alternate user/assistant/...");
    must(typeof content !== "string" || role === "tool" || content.trim() !== "", "content is blank");
  });
}
