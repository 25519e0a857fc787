import { once } from "@stemma/model";
import type { ServerApp } from "../http/server-app.js";
import { json } from "./route.js";

const INFO = {
  openapi: "3.1.0",
  info: {
    title: "Stemma",
    version: "1",
    description: "Memory for agents: conversations as trees, blocks, entries, search and recall.",
  },
};

/** `GET /openapi.json`: the document of the routes. It is no secret, but stands behind the keys as all else does. */
export function openApiRoute(app: ServerApp): void {
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", { type: "http", scheme: "bearer" });
  const document = once(async () => app.getOpenAPI31Document(INFO));
  app.get("/openapi.json", async () => json(await document()));
}
