import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { createApp } from "./app";
import { openChats } from "./chats";
import { chooseModel } from "./model";

const { DATABASE = "chat.db", PORT = "3000" } = process.env;

const model = await chooseModel();
const chats = openChats(DATABASE, model);
// Whoever reaches the server can sign in under any name, so it listens to this machine only.
const server = serve({ fetch: createApp(chats, model).fetch, port: Number(PORT), hostname: "127.0.0.1" }, (address) => {
  console.log(`http://localhost:${(address as AddressInfo).port}`);
  console.log(model.name === null ? "No STEMMA_MODEL is set: the offline responder answers." : `Model: ${model.name}`);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    server.close();
    chats.store.close().finally(() => process.exit(0));
  });
}
