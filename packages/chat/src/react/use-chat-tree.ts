import { useChat } from "@ai-sdk/react";
import { type ChatTransport, DefaultChatTransport, type UIMessage, type UIMessageChunk } from "ai";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ChatPage } from "../ai-sdk/handler/chats.js";
import type { RunData } from "../ai-sdk/respond/respond.js";
import {
  type ChatRoutesOptions,
  type ChatTree,
  type ChatTreeOptions,
  DEFAULT_API,
  placeOf,
  readChat,
  selectMessage,
  stopRun,
} from "./chat-tree.js";

interface Tree {
  readonly chatId: string;
  readonly isLoading: boolean;
  readonly siblings: Readonly<Record<string, readonly string[]>>;
  readonly compactions: ChatPage["compactions"];
  readonly previous: string | null;
  readonly error: Error | undefined;
}

/**
 * `useChat` for a chat that `chatHandler` serves: it loads the stored messages, resumes an answer that is under way, knows the
 * siblings of each message, and stops an answer on the server. Give it an `id` to open a stored chat. A chat that cannot be loaded is
 * in `error`. Errors of its methods: `REQUEST_REFUSED`.
 */
export function useChatTree<M extends UIMessage = UIMessage>(options: ChatTreeOptions<M> = {}): ChatTree<M> {
  const {
    api = DEFAULT_API,
    headers: _headers,
    credentials: _credentials,
    fetch: _fetch,
    body: _body,
    throttle,
    isNew = false,
    ...init
  } = options;
  const latest = useRef(options);
  latest.current = options;
  const runs = useRef(new Runs()).current;
  const transport = useMemo(() => {
    const onRun = (chatId: string, data: Parameters<Runs["begin"]>[1]) => runs.begin(chatId, data);
    return transportTo<M>(api, latest, onRun, (chatId) => runs.miss(chatId));
  }, [api, runs]);
  const chat = useChat<M>({
    ...init,
    transport,
    ...(throttle === undefined ? {} : { experimental_throttle: throttle }),
  });
  const { id: chatId, status, setMessages, resumeStream, clearError } = chat;
  // What a chat was when it was opened counts: a new one is stored with its first message, and is shown whole.
  const opened = useRef({ chatId: "", isStored: false });
  if (opened.current.chatId !== chatId) opened.current = { chatId, isStored: options.id !== undefined && !isNew };
  const { isStored } = opened.current;
  const [held, setTree] = useState<Tree>(() => emptyTree(chatId, isStored));
  const tree = held.chatId === chatId ? held : emptyTree(chatId, isStored);
  const isBusy = status === "submitted" || status === "streaming";

  // An edit is stored under an id of its own.
  runs.onEdit = (editedChat, { given, stored }) => {
    if (editedChat !== chatId) return;
    setMessages((messages) => messages.map((one) => (one.id === given ? { ...one, id: stored } : one)));
  };

  const show = useCallback(
    ({ messages, siblings, compactions, previous }: ChatPage<M>) => {
      setMessages([...messages]);
      setTree({ chatId, isLoading: false, siblings, compactions, previous, error: undefined });
    },
    [chatId, setMessages],
  );

  // The stored chat, and the answer that is under way. Of several readings the one that began last counts.
  const readings = useRef(0);
  const load = useCallback(
    async function read(missed?: string): Promise<void> {
      const reading = ++readings.current;
      const page = await readChat<M>({ ...latest.current, api }, chatId, null);
      if (reading !== readings.current) return;
      clearError();
      if (page === null) return setTree(emptyTree(chatId, false));
      const isUnderWay = page.run?.status === "running" || page.run?.status === "stopping";
      // One whose stream was asked for in vain is shown as it is stored, so that nothing is asked for without end.
      if (page.run === null || !isUnderWay || page.run.runId === missed) return show(page);
      const { runId } = page.run;
      runs.begin(chatId, { runId, edited: null });
      // The stream brings the answer whole.
      const answer = page.messages.findIndex(({ id }) => id === page.run?.messageId);
      show({ ...page, messages: answer === -1 ? page.messages : page.messages.slice(0, answer) });
      // An answer that ended meanwhile has no stream any more, and is stored.
      const readAgain = async () => {
        if (runs.isMissed(chatId) && reading === readings.current) await read(runId);
      };
      // What the stream fails with is the chat's error.
      resumeStream()
        .catch(() => {})
        .then(readAgain)
        .catch((error: Error) => setTree((before) => ({ ...before, error })));
    },
    [api, chatId, runs, show, resumeStream, clearError],
  );

  useEffect(() => {
    if (!isStored) return;
    let left = false;
    load().catch((error: Error) => {
      if (!left) setTree({ ...emptyTree(chatId, false), error });
    });
    return () => {
      left = true;
      readings.current += 1;
    };
  }, [chatId, isStored, load]);

  // An answer that ended has made siblings.
  const wasBusy = useRef(false);
  useEffect(() => {
    const ended = wasBusy.current && !isBusy;
    wasBusy.current = isBusy;
    if (!ended) return;
    runs.end(chatId);
    readChat<M>({ ...latest.current, api }, chatId, null).then(
      (page) => {
        if (page === null) return;
        setTree((before) => {
          const known = before.chatId === chatId ? before : emptyTree(chatId, false);
          const { compactions } = page;
          return { ...known, isLoading: false, siblings: { ...known.siblings, ...page.siblings }, compactions };
        });
      },
      // The next answer tells them.
      () => {},
    );
  }, [api, chatId, runs, isBusy]);

  const siblings = useCallback((messageId: string) => placeOf(messageId, tree.siblings[messageId]), [tree.siblings]);

  const { stop: leave, sendMessage } = chat;
  const select = async (messageId: string): Promise<void> => {
    // The answer goes on without this reader.
    if (isBusy) await leave();
    show(await selectMessage<M>({ ...latest.current, api }, chatId, messageId));
  };

  const edit = (messageId: string, message: string | Pick<M, "parts">): Promise<void> => {
    const content = typeof message === "string" ? { text: message } : { parts: message.parts };
    return sendMessage({ ...content, messageId } as Parameters<typeof sendMessage>[0]);
  };

  const stop = async (): Promise<boolean> => {
    if (!isBusy) return false;
    const runId = await runs.current(chatId);
    return runId === null ? false : stopRun({ ...latest.current, api }, chatId, runId);
  };

  const loadPrevious = async (): Promise<void> => {
    if (tree.previous === null) return;
    const page = await readChat<M>({ ...latest.current, api }, chatId, tree.previous);
    if (page === null) return;
    setMessages((messages) => [...page.messages, ...messages]);
    setTree({ ...tree, siblings: { ...tree.siblings, ...page.siblings }, previous: page.previous });
  };

  return {
    ...chat,
    error: chat.error ?? tree.error,
    isLoading: tree.isLoading,
    siblings,
    select,
    edit,
    stop,
    hasPrevious: tree.previous !== null,
    loadPrevious,
    compactions: tree.compactions,
    reload: async () => {
      if (!isBusy) await load();
    },
  };
}

function emptyTree(chatId: string, isLoading: boolean): Tree {
  return { chatId, isLoading, siblings: {}, compactions: [], previous: null, error: undefined };
}

type Begun = Pick<RunData, "runId" | "edited">;

class Runs {
  onEdit: (chatId: string, edited: NonNullable<RunData["edited"]>) => void = () => {};
  readonly #ids = new Map<string, string>();
  readonly #missed = new Set<string>();
  readonly #waiting = new Map<string, ((runId: string | null) => void)[]>();

  begin(chatId: string, { runId, edited }: Begun): void {
    this.#ids.set(chatId, runId);
    this.#missed.delete(chatId);
    this.#tell(chatId, runId);
    if (edited !== null) this.onEdit(chatId, edited);
  }

  /** Takes down that a run that was begun has no stream, because it has ended. */
  miss(chatId: string): void {
    this.#missed.add(chatId);
  }

  /** True for a chat whose latest run had ended before its stream was asked for. */
  isMissed(chatId: string): boolean {
    return this.#missed.has(chatId);
  }

  end(chatId: string): void {
    this.#ids.delete(chatId);
    this.#tell(chatId, null);
  }

  /** The run's id as soon as the server says it; null when the chat's request ends without one. */
  current(chatId: string): Promise<string | null> {
    const known = this.#ids.get(chatId);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((tell) => this.#waiting.set(chatId, [...(this.#waiting.get(chatId) ?? []), tell]));
  }

  #tell(chatId: string, runId: string | null): void {
    for (const tell of this.#waiting.get(chatId) ?? []) tell(runId);
    this.#waiting.delete(chatId);
  }
}

/** So many messages tell the server which branch a new one continues. */
const NEWEST = 4;

/** The transport of `useChat` to a handler's routes. It sends no more of the history than the server needs. */
function transportTo<M extends UIMessage>(
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
      const sent = messages.filter((one, index) => index >= messages.length - NEWEST || one.id === messageId);
      return { body: { ...body, id, messages: sent, trigger, messageId } };
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
