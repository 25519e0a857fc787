import type { ServerApp } from "../http/app.js";
import type { ServerOptions } from "../http/options.js";
import { messageRoutes } from "./messages.js";
import { openApiRoute } from "./open-api.js";
import { Routes } from "./route.js";
import { sessionRoutes } from "./sessions.js";

/** Bytes of a body, unless an option says otherwise. */
const DEFAULT_BODY_BYTES = 16_777_216;

/** The routes below `/v1`, and their document. They reach the store of the request's principal, and nothing else. */
export function registerRest(app: ServerApp, options: ServerOptions): void {
  const { maxBodyBytes = DEFAULT_BODY_BYTES } = options;
  const routes = new Routes(app, maxBodyBytes);
  sessionRoutes(routes);
  messageRoutes(routes);
  openApiRoute(app);
  routes.close();
}
