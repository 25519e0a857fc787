// The least that a server of Node can do: a handler of hono that answers `{}`, behind the listener that `stemma serve` has.
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";

const app = new Hono();
app.all("*", (c) => c.json({}));
const server = createServer(getRequestListener(app.fetch));
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })));
