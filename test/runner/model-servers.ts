import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a server answers to one request, whatever its protocol. */
export type Reply =
  | { say: string }
  | { call: [id: string, name: string, input: unknown][]; say?: string }
  /** Says it, then closes the connection: "reset" in the middle, "end" as if that were all. */
  | { cut: "reset" | "end"; say: string; call?: [id: string, name: string, partialInput: string] }
  | { fail: number; message: string };

export interface ModelServer {
  /** Up to and with `/v1`. */
  readonly url: string;
  /** The bodies of the requests, as they came. */
  readonly requests: Record<string, unknown>[];
  readonly headers: IncomingMessage["headers"][];
  close(): Promise<void>;
}

type Write = (response: ServerResponse, reply: Reply) => void;

/** A server that speaks OpenAI's chat completions, as streams or, of a text, whole; it answers with one reply after the other. */
export const openaiServer = (...replies: Reply[]) => serve(replies, writeOpenai);
/** A server that speaks Anthropic's Messages, as streams. */
export const anthropicServer = (...replies: Reply[]) => serve(replies, writeAnthropic);

async function serve(replies: Reply[], write: Write): Promise<ModelServer> {
  const requests: Record<string, unknown>[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const server: Server = createServer(async (request, response) => {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    headers.push(request.headers);
    requests.push(JSON.parse(Buffer.concat(body).toString()) as Record<string, unknown>);
    const reply = replies[requests.length - 1] ?? { fail: 400, message: "The script is over." };
    if ("fail" in reply) {
      response.writeHead(reply.fail, { "content-type": "application/json" });
      response.end(JSON.stringify({ type: "error", error: { type: "server_error", message: reply.message } }));
      return;
    }
    const { stream, messages } = requests.at(-1) as { stream?: boolean; messages?: unknown };
    if (stream !== true && messages !== undefined && "say" in reply && write === writeOpenai) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(wholeAnswer(reply.say ?? "")));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    write(response, reply);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    headers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function pieces(text: string): string[] {
  const half = Math.ceil(text.length / 2);
  return text === "" ? [] : [text.slice(0, half), text.slice(half)].filter((piece) => piece !== "");
}

function writeOpenai(response: ServerResponse, reply: Reply): void {
  if ("fail" in reply) return;
  const chunk = (delta: object, finish_reason: string | null = null) =>
    send(response, {
      id: "c",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta, finish_reason }],
    });
  for (const content of pieces(reply.say ?? "")) chunk({ role: "assistant", content });
  if ("cut" in reply) {
    if (reply.call) {
      const [id, name, input] = reply.call;
      chunk({ tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: input } }] });
    }
    cut(response, reply.cut);
    return;
  }
  const calls = "call" in reply ? reply.call : [];
  calls.forEach(([id, name, input], index) => {
    const [first = "", second = ""] = pieces(JSON.stringify(input));
    chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: first } }] });
    chunk({ tool_calls: [{ index, function: { arguments: second } }] });
  });
  chunk({}, calls.length > 0 ? "tool_calls" : "stop");
  const usage = {
    prompt_tokens: 20,
    completion_tokens: 7,
    total_tokens: 27,
    prompt_tokens_details: { cached_tokens: 12 },
  };
  send(response, { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage });
  response.end("data: [DONE]\n\n");
}

const wholeAnswer = (content: string) => ({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  usage: { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27 },
});

function writeAnthropic(response: ServerResponse, reply: Reply): void {
  if ("fail" in reply) return;
  const event = (type: string, fields: object = {}) => send(response, { type, ...fields }, type);
  const usage = { input_tokens: 8, output_tokens: 1, cache_read_input_tokens: 12, cache_creation_input_tokens: 3 };
  const message = {
    id: "msg",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [],
    stop_reason: null,
    usage,
  };
  event("message_start", { message });
  let index = 0;
  const say = reply.say ?? "";
  if (say !== "") {
    event("content_block_start", { index, content_block: { type: "text", text: "" } });
    for (const text of pieces(say)) event("content_block_delta", { index, delta: { type: "text_delta", text } });
    if ("cut" in reply && !reply.call) {
      cut(response, reply.cut);
      return;
    }
    event("content_block_stop", { index });
    index += 1;
  }
  const calls = "cut" in reply ? (reply.call ? [reply.call] : []) : "call" in reply ? reply.call : [];
  for (const [id, name, input] of calls) {
    event("content_block_start", { index, content_block: { type: "tool_use", id, name, input: {} } });
    for (const partial_json of pieces(typeof input === "string" ? input : JSON.stringify(input))) {
      event("content_block_delta", { index, delta: { type: "input_json_delta", partial_json } });
    }
    if ("cut" in reply) {
      cut(response, reply.cut);
      return;
    }
    event("content_block_stop", { index });
    index += 1;
  }
  const delta = { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null };
  event("message_delta", { delta, usage: { output_tokens: 7 } });
  event("message_stop");
  response.end();
}

function send(response: ServerResponse, data: object, event?: string): void {
  response.write(`${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`);
}

function cut(response: ServerResponse, how: "reset" | "end"): void {
  if (how === "end") response.end();
  else setTimeout(() => response.destroy(), 50);
}
