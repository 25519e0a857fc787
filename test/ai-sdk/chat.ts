import { AbstractChat, type ChatInit, type ChatState, type ChatStatus, DefaultChatTransport, type UIMessage } from "ai";

class State implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined = undefined;
  messages: UIMessage[];

  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }

  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message];
  };
  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with?.(index, message) ?? this.messages.map((m, i) => (i === index ? message : m));
  };
  snapshot = <T>(value: T): T => structuredClone(value);
}

/** What `useChat` is made of, without React. */
export class Chat extends AbstractChat<UIMessage> {
  constructor({ messages = [], ...init }: ChatInit<UIMessage>) {
    super({ ...init, state: new State(messages) });
  }
}

export interface ChatServer {
  readonly url: string;
}

/** A chat of a user on a server. */
export function openChat(
  { url }: ChatServer,
  id: string,
  init: Partial<ChatInit<UIMessage>> & { user?: string } = {},
): Chat {
  const { user = "anna", ...rest } = init;
  const transport = new DefaultChatTransport({ api: `${url}/api/chat`, headers: { authorization: user } });
  return new Chat({ id, transport, ...rest });
}

export function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}
