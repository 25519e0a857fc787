import { getSessionMessages, type SessionStore } from "@anthropic-ai/claude-agent-sdk";
import { type ClaudeSessionKey, claudeSessionStore } from "../../packages/stemma/src/claude.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { transcript } from "../claude/transcripts.js";
import { asValue, isCall, type Said, stepsOf, textOf } from "./crossing-said.js";

type Block = Record<string, unknown> & { type: string };

const dir = "/tmp/project";

/** The id of a session that the SDK can find. */
export function newChat(): string {
  return `claude/-tmp-project/${crypto.randomUUID()}`;
}

/** Appends entries as Claude Code writes them, below the last one of the transcript. */
export async function writeClaude(store: Store, id: string, conversation: readonly Said[]): Promise<void> {
  const key = keyOf(id);
  const sessions = claudeSessionStore(store);
  const { user, assistant } = transcript(key.sessionId);
  let parent = (await sessions.load(key))?.at(-1)?.uuid ?? null;
  for (const step of stepsOf(conversation)) {
    for (const entry of entriesOf(step)) {
      const make = entry.role === "user" ? user : assistant;
      const added = make(parent, entry.content);
      await sessions.append(key, [added]);
      parent = added.uuid;
    }
  }
}

export async function readClaude(store: Store, id: string): Promise<Said[]> {
  const sessionStore = claudeSessionStore(store) as SessionStore;
  const messages = await getSessionMessages(keyOf(id).sessionId, { sessionStore, dir });
  return fromBlocks(messages.map(({ message }) => message as BlockMessage));
}

/** A message whose content is Claude's blocks, or a text. */
export interface BlockMessage {
  readonly role: string;
  readonly content: string | readonly Block[];
}

export function fromBlocks(messages: readonly BlockMessage[]): Said[] {
  const all = messages.map(({ role, content }) => {
    return { role, blocks: typeof content === "string" ? [{ type: "text", text: content } as Block] : content };
  });
  const results = all.flatMap(({ blocks }) => blocks.filter(({ type }) => type === "tool_result"));
  return all.flatMap(({ role, blocks }): Said[] => {
    if (role === "user") return blocks.every(({ type }) => type === "tool_result") ? [] : [fromUser(blocks)];
    return blocks.flatMap((block): Said[] => {
      if (block.type === "text") return [{ answer: String(block.text) }];
      if (block.type !== "tool_use") return [];
      const result = results.find((each) => each.tool_use_id === block.id);
      return [
        { call: String(block.id), tool: String(block.name), input: block.input, output: asValue(result?.content) },
      ];
    });
  });
}

function fromUser(blocks: readonly Block[]): Said {
  const user = blocks.map(({ text = "" }) => String(text)).join("");
  const image = blocks.find(({ type }) => type === "image") as { source: Record<string, string> } | undefined;
  const { media_type: mediaType, data } = image?.source ?? {};
  return image === undefined ? { user } : { user, image: `data:${mediaType};base64,${data}` };
}

export function keyOf(id: string): ClaudeSessionKey {
  const [, projectKey = "", sessionId = ""] = id.split("/");
  return { projectKey, sessionId };
}

function entriesOf(step: readonly Said[]): { role: "user" | "assistant"; content: unknown }[] {
  const [said] = step as [Said];
  if ("answer" in said) return [{ role: "assistant", content: [{ type: "text", text: said.answer }] }];
  if ("user" in said) {
    const data = said.image?.split(",")[1];
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data } };
    return [{ role: "user", content: data === undefined ? said.user : [{ type: "text", text: said.user }, image] }];
  }
  const calls = step.filter(isCall);
  const use = calls.map(({ call, tool, input }) => ({ type: "tool_use", id: call, name: tool, input }));
  const results = calls.map(({ call, output }) => {
    return { type: "tool_result", tool_use_id: call, content: textOf(output), is_error: false };
  });
  return [
    { role: "assistant", content: use },
    { role: "user", content: results },
  ];
}
