import { respond } from "./http/headers.js";
import { pageFiles } from "./page-files.js";
import type { StudioRoute } from "./route.js";
import { contextRoutes } from "./routes/context.js";
import { exportRoutes } from "./routes/export.js";
import { memoryRoutes } from "./routes/memory.js";
import { memoryWriteRoutes } from "./routes/memory-writes.js";
import { messageRoutes } from "./routes/messages.js";
import { searchRoutes } from "./routes/search.js";
import { sessionWriteRoutes } from "./routes/session-writes.js";
import { sessionRoutes } from "./routes/sessions.js";
import { usageRoutes } from "./routes/usage.js";
import { PAGES, shell } from "./shell.js";

/** Everything that the studio answers below `base`, which has no slash at its end. */
export function studioRoutes(base: string): readonly StudioRoute[] {
  return [
    ...PAGES.map((path) => document(path, "text/html; charset=utf-8", shell(base))),
    ...Object.entries(pageFiles).map(([name, { type, text }]) => document(`/${name}`, type, text)),
    ...sessionRoutes,
    ...messageRoutes,
    ...contextRoutes,
    ...memoryRoutes,
    ...searchRoutes,
    ...usageRoutes,
    ...exportRoutes,
    ...sessionWriteRoutes,
    ...memoryWriteRoutes,
  ];
}

function document(path: string, type: string, text: string): StudioRoute {
  return {
    method: "GET",
    path,
    access: "read",
    answer: async () => respond(text, { headers: { "content-type": type } }),
  };
}
