import type { ServerApp } from "../http/server-app.js";
import type { ServerOptions } from "../http/server-options.js";
import { Routes } from "./route.js";
import { blockRoutes } from "./routes/blocks.js";
import { changeRoutes } from "./routes/changes.js";
import { copyRoutes } from "./routes/copies.js";
import { limitsRoute, openApiRoute } from "./routes/description.js";
import { erasureRoutes } from "./routes/erasure.js";
import { messageRoutes } from "./routes/history.js";
import { entryRoutes } from "./routes/memory-entries.js";
import { turnRoutes } from "./routes/prepared-turns.js";
import { sessionRoutes } from "./routes/registered-sessions.js";
import { searchRoutes } from "./routes/search.js";
import { compactionRoutes } from "./routes/summaries.js";
import { treeRoutes } from "./routes/tree.js";
import { usageRoutes } from "./routes/usage-counts.js";

/** The routes below `/v1`, and their document. They reach the store of the request's principal, and nothing else. */
export function registerRest(app: ServerApp, options: ServerOptions, maxBodyBytes: number): void {
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
  erasureRoutes(routes);
  changeRoutes(routes, options);
  limitsRoute(routes, maxBodyBytes);
  openApiRoute(app, routes);
  routes.close();
}
