import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import type { ChatHandler } from "stemma/ai-sdk";

/** Serves a handler on a port of this machine, as a server for Node does. */
export async function serve(handler: ChatHandler): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((incoming, outgoing) => {
    const left = new AbortController();
    outgoing.on("close", () => left.abort());
    handler(requestOf(incoming, left.signal)).then(
      (response) => {
        outgoing.writeHead(response.status, Object.fromEntries(response.headers));
        if (response.body === null) return outgoing.end();
        const body = Readable.fromWeb(response.body as NodeStream<Uint8Array>);
        body.on("error", () => outgoing.destroy());
        outgoing.on("close", () => body.destroy());
        return body.pipe(outgoing);
      },
      () => outgoing.destroy(),
    );
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => close(server) };
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", headers, url } = incoming;
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(`http://${headers.host}${url}`, {
    method,
    headers: headers as Record<string, string>,
    signal,
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" } : {}),
  } as RequestInit);
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((closed) => {
    server.close(() => closed());
  });
}
