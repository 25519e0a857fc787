// Vendors that speak the format of the chat completions and refuse more. Amazon's own format is another one; here it stands
// in this one, with what the Converse API says of documents.
import { checkTemplate } from "./chat.js";
import { must } from "./refuse.js";

interface Message {
  readonly role: string;
  readonly content?: string | null | readonly Content[];
  readonly tool_calls?: readonly { readonly id: string }[];
}

interface Content {
  readonly type: string;
  readonly file?: { readonly filename?: string };
}

export function checkMistral(body: Record<string, unknown>): void {
  checkTemplate(body);
  const messages = body.messages as Message[];
  messages.forEach(({ role, tool_calls = [] }, index) => {
    for (const { id } of tool_calls) {
      must(/^[a-zA-Z0-9]{9}$/.test(id), `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`);
    }
    must(role !== "user" || messages[index - 1]?.role !== "tool", "Unexpected role 'user' after role 'tool'");
  });
}

export function checkBedrock(body: Record<string, unknown>): void {
  const names = new Set<string>();
  for (const { role, content } of body.messages as Message[]) {
    if (role === "tool") must(content !== "", "The text field in the ContentBlock object is blank.");
    if (!Array.isArray(content)) continue;
    const documents = (content as Content[]).filter(({ type }) => type === "file");
    must(documents.length === 0 || content.some(({ type }) => type === "text"), "A document needs a text beside it.");
    for (const { file } of documents) {
      const name = (file?.filename ?? "").replace(/\.[^.]*$/, "");
      must(/^[a-zA-Z0-9\s()[\]-]+$/.test(name) && !/\s\s/.test(name), `The document file name ${name} is refused.`);
      must(!names.has(name), "Messages can't contain duplicate document names.");
      names.add(name);
    }
  }
}
