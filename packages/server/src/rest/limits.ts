import { z } from "@hono/zod-openapi";
import { MOST_MESSAGES } from "./messages.js";
import { json, type Routes } from "./route.js";
import { DEFAULT_LIMIT, MAX_LIMIT } from "./schemas.js";

/** The limits of requests, for clients that cut theirs. */
export function limitsRoute(routes: Routes, maxBodyBytes: number): void {
  const limits = { maxBodyBytes, maxMessages: MOST_MESSAGES, defaultLimit: DEFAULT_LIMIT, maxLimit: MAX_LIMIT };
  const count = z.int();
  routes.add(
    "get",
    "/v1/limits",
    {
      access: "read",
      summary: "Read the limits of requests",
      answers: { 200: z.object({ maxBodyBytes: count, maxMessages: count, defaultLimit: count, maxLimit: count }) },
    },
    async () => json(limits),
  );
}
