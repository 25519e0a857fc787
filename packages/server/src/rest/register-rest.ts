import type { ServerOptions } from "../http/options.js";
import type { ServerApp } from "../http/server-app.js";
import { blockRoutes } from "./blocks.js";
import { changeRoutes } from "./changes.js";
import { compactionRoutes } from "./compactions.js";
import { copyRoutes } from "./copies.js";
import { entryRoutes } from "./entries.js";
import { limitsRoute } from "./limits.js";
import { messageRoutes } from "./messages.js";
import { openApiRoute } from "./open-api.js";
import { Routes } from "./route.js";
import { searchRoutes } from "./search.js";
import { sessionRoutes } from "./sessions.js";
import { treeRoutes } from "./tree.js";
import { turnRoutes } from "./turns.js";
import { usageRoutes } from "./usage.js";
import { userRoutes } from "./users.js";

/** Bytes of a body, unless an option says otherwise. */
const DEFAULT_BODY_BYTES = 16_777_216;

/** The routes below `/v1`, and their document. They reach the store of the request's principal, and nothing else. */
export function registerRest(app: ServerApp, options: ServerOptions): void {
  const { maxBodyBytes = DEFAULT_BODY_BYTES } = options;
  const routes = new Routes(app, maxBodyBytes);
  sessionRoutes(routes);
  messageRoutes(routes);
  treeRoutes(routes);
  compactionRoutes(routes);
  copyRoutes(routes, maxBodyBytes);
  usageRoutes(routes);
  turnRoutes(routes, options);
  blockRoutes(routes);
  entryRoutes(routes);
  searchRoutes(routes);
  userRoutes(routes);
  changeRoutes(routes, options);
  limitsRoute(routes, maxBodyBytes);
  openApiRoute(app);
  routes.close();
}
