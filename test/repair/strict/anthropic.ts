// After platform.claude.com/docs (Messages, tool use, extended thinking) and the errors that the API answers with.
import { isObject, must } from "./refuse.js";

type Block = Record<string, unknown> & { type: string; content?: unknown };

const MEDIA = ["image/jpeg", "image/png", "image/gif", "image/webp"];

export function checkAnthropic(body: Record<string, unknown>): void {
  for (const block of (body.system ?? []) as Block[]) {
    must(block.text !== "", "system: text content blocks must be non-empty");
  }
  const messages = body.messages as { role: string; content: Block[] }[];
  must(messages.length > 0, "messages: at least one message is required");
  must(messages[0]?.role === "user", 'messages: first message must use the "user" role');
  must(messages.at(-1)?.role === "user", "This model does not support assistant message prefill.");
  const ids = new Set<string>();
  messages.forEach(({ role, content }, index) => {
    must(role === "user" || role === "assistant", `messages.${index}: role ${role} is not supported on this model`);
    must(content.length > 0, "messages: all messages must have non-empty content");
    if (role === "user") checkUser(content, messages[index - 1]?.content ?? []);
    else checkAssistant(content, messages[index + 1]?.content ?? [], ids);
  });
}

function checkText(block: Block): void {
  const said = typeof block.text === "string" && block.text.trim() !== "";
  must(block.type !== "text" || said, "messages: text content blocks must contain non-whitespace text");
}

function checkUser(content: Block[], before: Block[]): void {
  const asked = new Set(before.filter(({ type }) => type === "tool_use").map(({ id }) => id));
  let others = false;
  for (const block of content) {
    checkText(block);
    if (block.type === "image" || block.type === "document") checkSource(block);
    if (block.type !== "tool_result") {
      others = true;
      continue;
    }
    must(!others, "tool_result blocks must come first");
    must(asked.delete(block.tool_use_id), `unexpected tool_use_id found in tool_result blocks: ${block.tool_use_id}`);
    must(block.is_error !== true || block.content !== "", "content cannot be empty if is_error is true");
    if (Array.isArray(block.content)) (block.content as Block[]).forEach(checkText);
  }
}

function checkSource(block: Block): void {
  const source = block.source as Record<string, unknown>;
  const media = source.media_type as string;
  if (source.type === "base64" && block.type === "image") must(MEDIA.includes(media), `media_type ${media}`);
  if (source.type === "base64") must(source.data !== "", "base64 data is empty");
}

function checkAssistant(content: Block[], after: Block[], ids: Set<string>): void {
  const answered = new Set(after.filter(({ type }) => type === "tool_result").map(({ tool_use_id }) => tool_use_id));
  const last = content.at(-1)?.type;
  must(
    last !== "thinking" && last !== "redacted_thinking",
    "The final block in an assistant message cannot be `thinking`",
  );
  const running = new Set<unknown>();
  for (const block of content) {
    checkText(block);
    const { type, id, name } = block;
    if (type === "thinking") must(block.signature, "thinking.signature: Field required");
    if (type.endsWith("_tool_result") && type !== "tool_result") {
      must(running.delete(block.tool_use_id), `unexpected tool_use_id found in ${type} blocks: ${block.tool_use_id}`);
    }
    if (!type.endsWith("tool_use")) continue;
    must(typeof id === "string" && !ids.has(id), "`tool_use` ids must be unique");
    ids.add(id);
    must(isObject(block.input), "tool_use.input: Input should be a valid dictionary");
    must(/^[a-zA-Z0-9_-]{1,128}$/.test(String(name)), "tool_use.name: String should match pattern");
    const pattern = { tool_use: /^[a-zA-Z0-9_-]+$/, server_tool_use: /^srvtoolu_\w+$/, mcp_tool_use: /^mcptoolu_\w+$/ };
    must(pattern[type as keyof typeof pattern].test(id), `${type}.id: String should match pattern`);
    if (type === "tool_use") must(answered.has(id), `tool_use ids were found without tool_result blocks: ${id}`);
    else running.add(id);
  }
  must(running.size === 0, `server tool use without a corresponding result: ${[...running]}`);
}
