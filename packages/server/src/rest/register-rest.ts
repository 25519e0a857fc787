import type { ServerApp } from "../http/server-app.js";
import type { ServerOptions } from "../http/server-options.js";
import type { Routes } from "./route.js";
import { keyRoutes } from "./routes/access.js";
import { batchRoute } from "./routes/batches.js";
import { blockRoutes } from "./routes/blocks.js";
import { changeRoutes } from "./routes/changes.js";
import { copyRoutes } from "./routes/copies.js";
import { limitsRoute, openApiRoute } from "./routes/description.js";
import { messageRoutes } from "./routes/history.js";
import { entryRoutes } from "./routes/memory-entries.js";
import { turnRoutes } from "./routes/prepared-turns.js";
import { erasureRoutes, sessionRoutes } from "./routes/registered-sessions.js";
import { searchRoutes } from "./routes/search.js";
import { recordRoutes } from "./routes/session-records.js";
import { compactionRoutes, treeRoutes } from "./routes/tree.js";
import { quotaRoute, usageRoutes } from "./routes/usage.js";

/** Bytes of a body, unless an option says otherwise. */
export const DEFAULT_BODY_BYTES = 16_777_216;

/** The routes below `/v1`, and their document. They reach the store of the request's principal, and nothing else. */
export function registerRest(app: ServerApp, routes: Routes, options: ServerOptions): void {
  const { maxBodyBytes = DEFAULT_BODY_BYTES } = options;
  keyRoutes(routes, options);
  quotaRoute(routes, options);
  sessionRoutes(routes);
  messageRoutes(routes);
  treeRoutes(routes);
  compactionRoutes(routes);
  copyRoutes(routes, maxBodyBytes);
  usageRoutes(routes);
  turnRoutes(routes, options);
  blockRoutes(routes);
  entryRoutes(routes);
  recordRoutes(routes);
  batchRoute(routes);
  searchRoutes(routes);
  erasureRoutes(routes);
  changeRoutes(routes, options);
  limitsRoute(routes, maxBodyBytes);
  openApiRoute(app, routes);
  routes.close();
}
