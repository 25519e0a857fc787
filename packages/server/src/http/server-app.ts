import type { OpenAPIHono } from "@hono/zod-openapi";
import type { ServerContext } from "./options.js";

/** A route's knowledge of its request. */
export interface ServerEnv {
  Variables: ServerContext & { failure: unknown };
}

export type ServerApp = OpenAPIHono<ServerEnv>;
