import type { SessionMessage } from "../../packages/model/src/messages/message.js";
import { NAME_LIMITS } from "../../packages/model/src/messages/storable-text.js";
import type { SessionManager } from "../../packages/session/src/manager/session-manager.js";
import { PAYLOADS } from "./payloads.js";

const at = (index: number): string => PAYLOADS[index % PAYLOADS.length] as string;

/** Ids are bounded, and each is another one. */
const idOf = (index: number): string => `${at(index)}#${index}`.slice(-500);

/** The beginning of a payload, so that it is a name of that kind. */
const fitting = (kind: keyof typeof NAME_LIMITS, payload: string): string => {
  const characters = [...payload];
  while (Buffer.byteLength(characters.join("")) > NAME_LIMITS[kind]) characters.pop();
  return characters.join("");
};
const roleOf = (index: number): string => fitting("role", at(index));

/** The session that holds every payload in every field of a message. */
export const HOSTILE_SESSION = idOf(0);
/** Its user. */
export const HOSTILE_USER = fitting("owner", at(1));
export const HOSTILE_KEY = fitting("owner", at(2));

/** A message with a payload wherever a model, a user or an import can put a text. */
function messageOf(index: number): SessionMessage {
  const payload = at(index);
  const json = { [payload]: payload, nested: [{ [at(index + 1)]: [payload] }] };
  return {
    id: idOf(index),
    role: ["user", "assistant", roleOf(index)][index % 3] as string,
    metadata: { name: payload, [payload]: payload },
    parts: [
      { type: "text", text: payload },
      { type: "reasoning", text: payload },
      { type: `tool-${payload}`, toolCallId: payload, state: "output-available", input: json, output: json },
      {
        type: "dynamic-tool",
        toolName: payload,
        toolCallId: `d${payload}`,
        state: payload,
        input: payload,
        errorText: payload,
      },
      { type: "tool-call", toolName: payload, toolCallId: `c${payload}`, args: json },
      { type: "tool_result", tool_use_id: payload, content: payload },
      { type: "file", mediaType: payload, url: payload, filename: payload },
      { type: "file", mediaType: "image/png", url: payload, filename: payload },
      { type: "file", mediaType: payload, url: `data:${payload};base64,AAAA`, filename: payload },
      { type: "file", mediaType: "image/svg+xml", url: `data:image/svg+xml,${encodeURIComponent(payload)}` },
      { type: "source-url", sourceId: payload, url: payload, title: payload },
      { type: "source-document", sourceId: payload, mediaType: payload, title: payload },
      { type: `data-${payload}`, data: json },
      { type: payload, text: payload, [payload]: payload },
    ],
  };
}

/** Fills a store with payloads: one session with all of them, and forty others, memory and usage of each kind. */
export async function fillHostile(manager: SessionManager): Promise<void> {
  const own = manager.forUser(HOSTILE_USER);
  const { store } = own;
  await own.create(at(0), { id: HOSTILE_SESSION, model: at(3), source: at(4), metadata: { [at(5)]: at(6) } });
  const messages = PAYLOADS.map((_, index) => messageOf(index));
  await own.appendAll(HOSTILE_SESSION, messages);
  await own.append(HOSTILE_SESSION, { id: "aside", role: "user", parts: [{ type: "text", text: at(7) }] }, idOf(150));
  await own.append(HOSTILE_SESSION, { id: "asked", role: "user", parts: [{ type: "text", text: at(8) }] }, idOf(199));
  await own.addCompaction(HOSTILE_SESSION, PAYLOADS.join("\n\n"), idOf(0), idOf(20));
  await own.getSession(HOSTILE_SESSION).prepareTurn();
  for (const [index, payload] of PAYLOADS.entries())
    await own.addUsage(HOSTILE_SESSION, 1, 1, 1, payload.slice(0, 200 + index));
  for (let index = 1; index <= 40; index += 1) {
    const user = manager.forUser(fitting("owner", at(index)));
    await user.create(at(index), { id: idOf(index), parentSessionId: HOSTILE_SESSION });
    await user.append(idOf(index), { id: "m", role: roleOf(index), parts: [{ type: "text", text: at(index) }] });
    await user.addUsage(idOf(index), 1, 1, 1, at(index));
  }
  const origin = {
    author: "learning",
    sessionId: HOSTILE_SESSION,
    messageIds: [idOf(199)],
    toolCallId: at(9),
  } as const;
  const scopes = [
    { sessionId: HOSTILE_SESSION },
    { sessionId: "", scope: "user" as const },
    { sessionId: "", scope: { key: HOSTILE_KEY } },
  ];
  const topics = fitting("label", at(0));
  for (const scope of scopes) {
    for (let index = 0; index < 40; index += 1) {
      const label = fitting("label", `${at(index)}#${index}`);
      await store.blocks.set({ ...scope, kind: "block", label }, at(index), { origin });
      await store.blocks.set({ ...scope, kind: "block", label }, PAYLOADS.join("\n"), { origin });
      await store.entries.set({ ...scope, label: topics }, { key: idOf(index), content: at(index) }, { origin });
      await store.entries.set({ ...scope, label: topics }, { key: idOf(index), content: at(index + 1) }, { origin });
    }
  }
}

/** The ids of some messages, so that every message is shown around one of them. */
export const HOSTILE_MESSAGES: readonly string[] = Array.from({ length: 10 }, (_, index) => idOf(index * 20 + 10));
