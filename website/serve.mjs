import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
};

/**
 * Serves a built site as static hosts do: a page has no `.html` in its address. Nothing is compressed, since on one's own
 * machine that takes far longer than it saves. Resolves to the server once it listens.
 * @param {string} folder
 * @param {number} port 0 for any that is free
 * @returns {Promise<import("node:http").Server>}
 */
export function serveSite(folder, port) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname));
    const found = [path, `${path}.html`, join(path, "index.html")]
      .map((each) => join(folder, each))
      .find((each) => extname(each) in TYPES && existsSync(each));
    const file = found ?? join(folder, "404.html");
    response.writeHead(found === undefined ? 404 : 200, {
      "content-type": TYPES[/** @type {keyof typeof TYPES} */ (extname(file))],
      "cache-control": path.startsWith("/assets/") ? "max-age=31536000, immutable" : "no-cache",
    });
    createReadStream(file).pipe(response);
  });
  return new Promise((resolve, reject) =>
    server.once("error", reject).listen(port, "127.0.0.1", () => resolve(server)),
  );
}
