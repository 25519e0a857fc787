import { DefaultChatTransport, type UIMessage } from "ai";
import type { ChatPage, RunData } from "stemma/ai-sdk";
import { Chat, textOf } from "./chat.js";
import type { Servers } from "./servers.js";

const KINDS = ["plain", "plain", "count", "remove", "ask", "fails"];
const PATIENCE = 120_000;

interface ToolPart {
  readonly type: string;
  readonly state: string;
  readonly toolCallId: string;
  readonly approval?: { readonly id: string };
}

/** A user who does anything at any time, and notes what the server acknowledged. */
export class RandomChat {
  /** Texts of the user that the server took, by an answer with status 200. */
  readonly acknowledged = new Set<string>();
  /** How often an answer was asked for again. */
  regenerated = 0;
  /** What answers that were seen to their end ended with; what came before may be left of one that broke off. */
  readonly answers = new Map<string, string>();
  #chat: Chat;
  #runId = "";
  #texts = 0;

  constructor(
    readonly id: string,
    private readonly servers: Servers,
    private readonly random: () => number,
  ) {
    this.#chat = this.#open([]);
  }

  async act(): Promise<void> {
    const actions = [
      () => this.#submit(),
      () => this.#submit(),
      () => this.#edit(),
      () => this.#chat.regenerate().catch(() => {}),
      () => this.#leaveWhile(this.#submit()),
      () => this.#stopWhile(this.#submit()),
      () => Promise.all([this.#submit(), this.#elsewhere()]),
      () => this.#reload(),
      () => this.#chat.resumeStream(),
    ];
    const action = this.#pick(actions);
    await action();
    await this.#answerCalls();
    if (this.#chat.status === "error") await this.#again();
  }

  /** Reloads, and has a last question answered. */
  async finish(): Promise<ChatPage> {
    const end = Date.now() + PATIENCE;
    await this.#reload();
    const text = this.#text("plain");
    const question = { id: `last-${this.id}`, role: "user", parts: [{ type: "text", text }] } as const;
    while (Date.now() < end) {
      await this.#reload();
      const known = this.#chat.messages.some(({ id }) => id === question.id);
      if (!known) await this.#chat.sendMessage({ ...question, parts: [...question.parts] });
      else await this.#chat.regenerate({ messageId: question.id });
      const page = await this.#page();
      // A message of another tab that had waited may come behind it.
      const at = page?.messages.findIndex(({ id }) => id === question.id) ?? -1;
      if (page?.run?.status === "completed" && at >= 0 && textOf(page.messages[at + 1]).includes(text)) return page;
    }
    const { run, messages = [] } = (await this.#page()) ?? {};
    throw new Error(`Chat ${this.id} was not answered: ${JSON.stringify({ run, end: messages.slice(-3) })}`);
  }

  async #submit(): Promise<void> {
    await this.#chat.sendMessage({ text: this.#text(this.#pick(KINDS)) });
  }

  async #edit(): Promise<void> {
    const questions = this.#chat.messages.filter(({ role }) => role === "user");
    if (questions.length === 0) return this.#submit();
    const { id } = this.#pick(questions);
    await this.#chat.sendMessage({ text: this.#text("plain"), messageId: id });
  }

  async #elsewhere(): Promise<void> {
    const tab = this.#open(this.#chat.messages);
    await tab.sendMessage({ text: this.#text("plain") });
  }

  async #leaveWhile(work: Promise<void>): Promise<void> {
    await this.#pause();
    await this.#chat.stop();
    await work;
    if (this.random() < 0.5) await this.#chat.resumeStream();
  }

  async #stopWhile(work: Promise<void>): Promise<void> {
    const known = this.#runId;
    const ended = work.then(() => true);
    while (this.#runId === known && (await Promise.race([ended, this.#pause()])) !== true);
    await this.#post(`/${this.id}/stop`, { runId: this.random() < 0.2 ? "stale" : this.#runId });
    await work;
  }

  async #answerCalls(): Promise<void> {
    const parts = (this.#chat.messages.at(-1)?.parts ?? []) as ToolPart[];
    for (const part of parts) {
      if (part.state === "approval-requested" && part.approval !== undefined) {
        await this.#chat.addToolApprovalResponse({ id: part.approval.id, approved: this.random() < 0.7 });
      } else if (part.type === "tool-ask" && part.state === "input-available") {
        await this.#chat.addToolOutput({ tool: "ask", toolCallId: part.toolCallId, output: "blue" });
      } else continue;
      // Some users never answer.
      if (this.random() < 0.8) await this.#chat.sendMessage();
    }
  }

  async #again(): Promise<void> {
    this.#chat.clearError();
    await this.#pause();
    const way = this.random();
    if (way < 0.3) await this.#reload();
    else if (way < 0.6) await this.#chat.sendMessage().catch(() => {});
    else await this.#chat.regenerate().catch(() => {});
  }

  async #reload(): Promise<void> {
    const page = await this.#page();
    if (page === null) return;
    this.#chat = this.#open(page.messages);
    if (page.run?.status === "running") await this.#chat.resumeStream();
  }

  #open(messages: UIMessage[]): Chat {
    const transport = new DefaultChatTransport({
      api: "/api/chat",
      headers: { authorization: "anna" },
      fetch: (path, init) => this.#fetch(String(path), init),
      ...(this.random() < 0.5 ? {} : { prepareSendMessagesRequest: lastMessageOnly }),
    });
    const chat: Chat = new Chat({
      id: this.id,
      messages: structuredClone(messages),
      transport,
      onData: ({ data }) => {
        this.#runId = (data as RunData).runId;
      },
      onFinish: ({ message, isAbort, isError, isDisconnect, finishReason }) => {
        const isWhole = !isAbort && !isError && !isDisconnect && finishReason === "stop";
        if (isWhole && message.role === "assistant") this.answers.set(message.id, lastTextOf(message));
      },
    });
    return chat;
  }

  async #fetch(path: string, init: RequestInit | undefined): Promise<Response> {
    const body = typeof init?.body === "string" ? JSON.parse(init.body) : null;
    const last: UIMessage | undefined = body?.message ?? body?.messages?.at(-1);
    // What is said of an earlier answer's calls does not submit the last message.
    const named = body?.messages?.find(({ id }: UIMessage) => id === body.messageId);
    const text = last?.role === "user" && named?.role !== "assistant" ? textOf(last) : "";
    if (body?.trigger === "regenerate-message") this.regenerated += 1;
    const response = await fetch(this.servers.url + path, init);
    if (response.ok && body?.trigger === "submit-message" && text !== "") this.acknowledged.add(text);
    return response;
  }

  async #page(): Promise<ChatPage | null> {
    const url = `${this.servers.url}/api/chat/${this.id}?limit=200`;
    // A server may be killed in the middle of its answer.
    return fetch(url, { headers: { authorization: "anna" } })
      .then((response) => (response.ok ? (response.json() as Promise<ChatPage>) : null))
      .catch(() => null);
  }

  async #post(path: string, body: unknown): Promise<void> {
    const init = { method: "POST", headers: { authorization: "anna" }, body: JSON.stringify(body) };
    await fetch(`${this.servers.url}/api/chat${path}`, init).catch(() => {});
  }

  #text(kind: string): string {
    this.#texts += 1;
    return `${kind} ${this.id}-${this.#texts}`;
  }

  #pause(): Promise<unknown> {
    return new Promise((wake) => setTimeout(wake, this.random() * 60));
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.random() * values.length)] as T;
  }
}

function lastMessageOnly({
  id,
  messages,
  trigger,
  messageId,
}: {
  id: string;
  messages: UIMessage[];
  trigger: string;
  messageId?: string | undefined;
}) {
  return { body: { id, message: messages.at(-1), trigger, messageId } };
}

function lastTextOf({ parts }: UIMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).at(-1) ?? "";
}
