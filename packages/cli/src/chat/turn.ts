import { beginning } from "@stemma/model";
import type { AgentEvent } from "@stemma/runner";
import type { Chat } from "./slash/slash-command.js";

const THINKING = "thinking";
const MAX_SHOWN = 200;
const MAX_NAME = 60;

/** Runs a turn: `prepare` stores what is to be answered, then what the model says and does is shown. */
export async function runTurn(chat: Chat, prepare: () => Promise<void>): Promise<void> {
  const { conversation, terminal } = chat;
  const { session } = conversation;
  const first = session.getMessages().length === 0;
  await prepare();
  if (first) await nameIt(chat);
  chat.turn = new AbortController();
  terminal.busy(THINKING, true);
  try {
    for await (const event of session.receive({ abortSignal: chat.turn.signal })) show(chat, event);
  } finally {
    chat.turn = null;
    terminal.endLine();
    terminal.busy(null);
  }
}

function show(chat: Chat, event: AgentEvent): void {
  const { terminal, conversation } = chat;
  switch (event.type) {
    case "text":
      terminal.busy("answering", true);
      terminal.write(event.text);
      return;
    case "tool_use":
      terminal.busy(event.name, true);
      terminal.note(`· ${event.name} ${beginning(JSON.stringify(event.input) ?? "", MAX_SHOWN)}`);
      return;
    case "tool_result":
      terminal.busy(THINKING, true);
      terminal.note(`  ${beginning(event.content.replace(/\s+/gu, " "), MAX_SHOWN)}`);
      return;
    case "error":
      terminal.warn(`The model failed: ${describeModelFailure(event.error, conversation.modelName)}`);
      if (!terminal.interactive) chat.exitCode = 1;
      return;
    case "stop":
      if (event.stop_reason === "aborted") terminal.note("(aborted; what was finished is kept)");
      if (event.stop_reason === "max_turns") terminal.note("(stopped after many steps; write something to go on)");
      if (event.stop_reason === "max_tokens") terminal.note("(cut at the model's limit of tokens)");
      return;
  }
}

// A conversation is called after how it began.
async function nameIt({ conversation }: Chat): Promise<void> {
  const { id } = conversation.session;
  const info = await conversation.manager.get(id);
  if (info === null || info.name !== id) return;
  const [message] = conversation.session.getMessages();
  if (typeof message?.content !== "string") return;
  await conversation.manager.rename(id, beginning(message.content.replace(/\s+/gu, " ").trim(), MAX_NAME));
}

/** The fields of an error of the AI SDK that tell where it comes from. */
interface ApiFailure {
  readonly message: string;
  readonly url: string;
  /** Absent where no answer came. */
  readonly statusCode?: number | undefined;
}

/** Why a model did not answer, for the person at the terminal: what was asked where, and what to change. */
function describeModelFailure(error: Error, modelName: string | null): string {
  const failure = apiFailureOf(error);
  if (failure === null) return error.message;
  const { statusCode, message } = failure;
  const place = new URL(failure.url).origin;
  if (statusCode === undefined) {
    const why = message.replace(/^Cannot connect to API: */u, "");
    return `nothing answers at ${place} (${why}). Is the server running, and is its address (--base-url) right?`;
  }
  if (statusCode === 404)
    return `${place} does not know the model "${modelName ?? ""}" (${message}). See --model and --base-url.`;
  if (statusCode === 401 || statusCode === 403)
    return `${place} refused the key (${message}). See the environment variable of the key.`;
  return message;
}

/** The failure of the last attempt. */
function apiFailureOf(error: unknown): ApiFailure | null {
  for (
    let at = error;
    typeof at === "object" && at !== null;
    at = Reflect.get(at, "lastError") ?? Reflect.get(at, "cause")
  ) {
    if ("url" in at && typeof at.url === "string" && URL.canParse(at.url) && "message" in at) return at as ApiFailure;
  }
  return null;
}
