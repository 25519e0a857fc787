import { z } from "@hono/zod-openapi";
import { once } from "@stemma/model";
import type { ServerApp } from "../../http/server-app.js";
import { json, type Routes } from "../route.js";
import { DEFAULT_LIMIT, MAX_LIMIT } from "../schemas.js";
import { MOST_OPERATIONS } from "./batches.js";
import { MOST_MESSAGES } from "./history.js";

const INFO = {
  openapi: "3.1.0",
  info: {
    title: "Stemma",
    version: "1",
    description: "Memory for agents: conversations as trees, blocks, entries, search and recall.",
  },
};

/** `GET /openapi.json`: the document of the routes. It is no secret, but stands behind the keys as all else does. */
export function openApiRoute(app: ServerApp, routes: Routes): void {
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", { type: "http", scheme: "bearer" });
  const document = once(async () => {
    routes.describe();
    return app.getOpenAPI31Document(INFO);
  });
  app.get("/openapi.json", async () => json(await document()));
}

/** The limits of requests, for clients that cut theirs. */
export function limitsRoute(routes: Routes, maxBodyBytes: number): void {
  const limits = {
    maxBodyBytes,
    maxMessages: MOST_MESSAGES,
    maxOperations: MOST_OPERATIONS,
    defaultLimit: DEFAULT_LIMIT,
    maxLimit: MAX_LIMIT,
  };
  const count = z.int();
  routes.add(
    "get",
    "/v1/limits",
    {
      access: "read",
      summary: "Read the limits of requests",
      answers: {
        200: z
          .object({
            maxBodyBytes: count,
            maxMessages: count,
            maxOperations: count,
            defaultLimit: count,
            maxLimit: count,
          })
          .openapi("Limits"),
      },
    },
    async () => json(limits),
  );
}
