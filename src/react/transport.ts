import { type ChatTransport, DefaultChatTransport, type UIMessage, type UIMessageChunk } from "ai";
import type { RunData } from "../ai-sdk.js";
import type { ChatRoutesOptions } from "./chat-routes.js";

/** So many messages tell the server which branch a new one continues. */
const TOLD = 4;

/** The transport of `useChat` to a handler's routes. It sends no more of the history than the server needs. */
export function transportTo<M extends UIMessage>(
  api: string,
  latest: { readonly current: ChatRoutesOptions & { body?: object | undefined } },
  onRun: (chatId: string, data: RunData) => void,
  onMissed: (chatId: string) => void,
): ChatTransport<M> {
  const routes = new DefaultChatTransport<M>({
    api,
    headers: async () => {
      const { headers = {} } = latest.current;
      return typeof headers === "function" ? headers() : headers;
    },
    body: () => latest.current.body ?? {},
    credentials: () => latest.current.credentials ?? "same-origin",
    fetch: (input, init) => (latest.current.fetch ?? globalThis.fetch)(input, init),
    prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => {
      const told = messages.filter((one, index) => index >= messages.length - TOLD || one.id === messageId);
      return { body: { ...body, id, messages: told, trigger, messageId } };
    },
  });
  const watched = (chatId: string, stream: ReadableStream<UIMessageChunk>) =>
    stream.pipeThrough(
      new TransformStream<UIMessageChunk, UIMessageChunk>({
        transform(chunk, controller) {
          if (chunk.type === "data-run") onRun(chatId, chunk.data as RunData);
          controller.enqueue(chunk);
        },
      }),
    );
  return {
    sendMessages: async (options) => watched(options.chatId, await routes.sendMessages(options)),
    reconnectToStream: async (options) => {
      const stream = await routes.reconnectToStream(options);
      if (stream !== null) return watched(options.chatId, stream);
      onMissed(options.chatId);
      return null;
    },
  };
}
