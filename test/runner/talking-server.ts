import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An answer that a test gives bit by bit, in OpenAI's chat completions. */
export class Talk {
  #calls = 0;

  constructor(
    readonly request: { messages: { role: string; content: unknown }[] },
    private readonly response: ServerResponse,
  ) {
    response.writeHead(200, { "content-type": "text/event-stream" });
  }

  say(content: string): void {
    this.#send({ role: "assistant", content });
  }

  call(name: string, input: unknown): void {
    const index = this.#calls++;
    const call = { name, arguments: JSON.stringify(input) };
    this.#send({ tool_calls: [{ index, id: crypto.randomUUID(), type: "function", function: call }] });
  }

  end(text = ""): void {
    if (text !== "") this.say(text);
    this.#send({}, this.#calls > 0 ? "tool_calls" : "stop");
    this.response.end("data: [DONE]\n\n");
  }

  #send(delta: object, finish_reason: string | null = null): void {
    const choices = [{ index: 0, delta, finish_reason }];
    const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices };
    this.response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
}

/** A model whose answers a test gives. */
export async function talkingServer() {
  const asked: Talk[] = [];
  let wake = () => {};
  const server = createServer(async (request, response) => {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    asked.push(new Talk(JSON.parse(Buffer.concat(body).toString()), response));
    wake();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    /** The next request. */
    async next(): Promise<Talk> {
      for (;;) {
        const talk = asked.shift();
        if (talk !== undefined) return talk;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    /** Requests that were not taken yet. */
    waiting: () => asked.length,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
