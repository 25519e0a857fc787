// After ai.google.dev/gemini-api/docs (function calling, thought signatures) and the errors that the API answers with.
import { isObject, must } from "./refuse.js";

type Part = Record<string, Record<string, unknown> | undefined> & { text?: unknown };

interface Content {
  readonly role: string;
  readonly parts: Part[];
}

export function checkGoogle(body: Record<string, unknown>): void {
  const contents = body.contents as Content[];
  must(contents.length > 0, "contents is not specified");
  must(contents[0]?.role === "user", "Please ensure that the conversation begins with a user turn.");
  must(contents.at(-1)?.role === "user", "Please ensure that multiturn requests end with a user turn.");
  const system = (body.systemInstruction as Content | undefined)?.parts ?? [];
  for (const { text } of system) must(text !== "", "system_instruction: must not be empty");
  for (const [index, content] of contents.entries()) checkContent(content, contents[index - 1], contents[index + 1]);
}

function checkContent({ role, parts }: Content, before: Content | undefined, after: Content | undefined): void {
  must(parts.length > 0, "GenerateContentRequest.contents.parts must not be empty");
  must(role !== "model" || before?.role !== "model", "Please ensure that turns alternate between user and model.");
  for (const part of parts) {
    // A signature may come in a part of its own.
    must(part.text !== "" || part.thoughtSignature, "part must have one initialized field");
    if (part.inlineData) must(part.inlineData.data !== "", "inline_data is empty");
    const { functionCall: call } = part;
    if (call === undefined) continue;
    must(/^[a-zA-Z_][\w.:-]{0,63}$/.test(String(call.name)), "function_call.name: invalid function name");
    must(isObject(call.args), "function_call.args: must be a struct");
    must(
      part.thoughtSignature || parts.some((other) => other !== part && other.thoughtSignature),
      "missing a thought_signature",
    );
  }
  const calls = parts.filter(({ functionCall }) => functionCall).map(({ functionCall }) => functionCall?.id);
  const answers = after?.parts.filter(({ functionResponse }) => functionResponse) ?? [];
  if (role === "model") {
    const answered = answers.map(({ functionResponse }) => functionResponse?.id);
    must(
      calls.length === answered.length,
      "the number of function response parts is not that of the function call parts",
    );
    must(
      calls.every((id) => answered.includes(id)),
      "function response without its call",
    );
    const served = parts.flatMap(({ toolCall }) => (toolCall ? [toolCall.id] : []));
    const told = parts.flatMap(({ toolResponse }) => (toolResponse ? [toolResponse.id] : []));
    must(served.join() === told.join(), "toolCall without its toolResponse");
  } else if (parts.some(({ functionResponse }) => functionResponse)) {
    must(before?.role === "model", "function response turn must come immediately after a function call turn");
  }
}
