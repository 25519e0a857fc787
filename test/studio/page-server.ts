import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { studioPage } from "../../scripts/studio-page.mjs";
import { blocks } from "./page-memory.js";
import { NotFound, ROUTES } from "./page-routes.js";
import type { World } from "./page-world.js";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; require-trusted-types-for 'script'";
// One pixel.
const IMAGE = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const SHELL = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="stemma-base" content="/studio"><title>Stemma</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/studio/page.css">
<script type="module" src="/studio/page.js"></script></head><body></body></html>`;

/** Serves the page with generated data, below `/studio`, as the studio does. Writes are kept in `posts`. */
export async function servePage(world: World): Promise<{ server: Server; home: string; posts: [string, unknown][] }> {
  const files = await studioPage();
  const posts: [string, unknown][] = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    const path = url.pathname.replace(/^\/studio\//, "");
    const send = (status: number, type: string, body: string | Buffer) => {
      response.writeHead(status, { "content-type": type, "content-security-policy": POLICY });
      response.end(body);
    };
    const json = (status: number, body: unknown) => send(status, "application/json", JSON.stringify(body));
    const file = files[path];
    if (file !== undefined) return send(200, file.type, file.text);
    if (path === "api/media") return send(200, "image/png", IMAGE);
    if (!path.startsWith("api/")) return send(200, "text/html; charset=utf-8", SHELL);
    const name = path.slice("api/".length);
    if (request.method === "POST") {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = JSON.parse(Buffer.concat(chunks).toString());
      posts.push([name, body]);
      const isConflict = name === "edit-block" && body.expectedVersion === 3;
      return isConflict
        ? json(409, {
            code: "BLOCK_CONFLICT",
            message: "It was changed.",
            details: { block: blocks(world).find(({ label }) => label === body.label) },
          })
        : json(200, { id: "session-7", compacted: true });
    }
    try {
      const route = ROUTES[name];
      if (route === undefined) throw new NotFound(`There is no route "${name}".`);
      json(200, route(world, url.searchParams));
    } catch (error) {
      json(404, { code: "NOT_FOUND", message: String((error as Error).message) });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, home: `http://127.0.0.1:${(server.address() as AddressInfo).port}/studio`, posts };
}
