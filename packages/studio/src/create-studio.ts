import { readJsonObject } from "@stemma/model";
import { SessionManager } from "@stemma/session";
import type { Store } from "@stemma/store";
import { failed, refusal, refusalOfOrigin, respond, respondJson } from "./http/failure.js";
import { Fields } from "./http/fields.js";
import { STUDIO, type Studio, type StudioAccess, type StudioOptions } from "./options.js";
import type { StudioRoute, StudioSource } from "./route.js";
import { contextRoutes } from "./routes/context.js";
import { entryRoutes, memoryRoutes, memoryWriteRoutes } from "./routes/memory.js";
import { messageRoutes, searchRoutes } from "./routes/messages.js";
import { exportRoutes, sessionRoutes, sessionWriteRoutes } from "./routes/sessions.js";
import { usageRoutes } from "./routes/usage.js";

const BODY = { maxBytes: 4 * 1024 * 1024, advice: "The studio takes no larger text." };

/**
 * The studio of a store, or of a manager, whose blocks and compaction it knows then: a function from a request to a response,
 * for any server that speaks `fetch`. Give it the requests to `basePath` and below. It answers what it refuses as JSON
 * with a code, and shows no error's stack. Errors: `INVALID_ARGUMENT`, also without `authorize`; `STORE_UNSUPPORTED`.
 */
export function createStudio(host: Store | SessionManager, options: StudioOptions): Studio {
  STUDIO.assert(options, "createStudio()");
  const { authorize, write = false, hosts, onError } = options;
  const base = (options.basePath ?? "/studio").replace(/\/+$/, "");
  const routes = studioRoutes(base);
  const hasManager = isManager(host);
  const manager = hasManager ? host : SessionManager.create(host);
  const sourceFor = (access: Entry): StudioSource => {
    const own = access === true ? manager : manager.forUser(access.userId);
    return { manager: own, store: own.store, hasManager, canWrite: write };
  };
  return async (request) => {
    try {
      const foreign = refusalOfOrigin(request, hosts);
      if (foreign !== null) throw foreign;
      const access = await authorize(request);
      if (!letsIn(access)) {
        throw refusal(401, "NOT_ALLOWED", "You may not see this. Open the studio by its own link, or sign in.");
      }
      const url = new URL(request.url);
      const route = routeFor(routes, request.method, url.pathname, base);
      if (route.access === "write") assertWrite(request, write);
      const fields =
        route.access === "write" ? new Fields(await readJsonObject(request, BODY)) : Fields.ofQuery(url.searchParams);
      const answer = await route.answer({ ...sourceFor(access), fields, signal: request.signal });
      return answer instanceof Response ? answer : respondJson(answer);
    } catch (error) {
      return failed(error, onError);
    }
  };
}

// Of another copy of the package, too.
function isManager(host: Store | SessionManager): host is SessionManager {
  return typeof host === "object" && host !== null && "getSession" in host;
}

type Entry = Exclude<StudioAccess, false>;

// Whatever is neither true nor a user is refused, also what a program without types gives.
function letsIn(access: StudioAccess | null | undefined): access is Entry {
  return access === true || (typeof access === "object" && typeof access?.userId === "string");
}

function routeFor(routes: readonly StudioRoute[], method: string, pathname: string, base: string): StudioRoute {
  const path = pathname === base ? "/" : pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : null;
  const onPath = routes.filter((route) => route.path === path);
  const route = onPath.find((each) => each.method === method);
  if (route !== undefined) return route;
  if (onPath.length === 0) throw refusal(404, "NOT_FOUND", "There is nothing at this address.");
  throw refusal(405, "BAD_REQUEST", `This address takes ${onPath.map((each) => each.method).join(" and ")} only.`);
}

/** Only a script of the page's own origin sends such a request: a form or a picture of another site cannot. */
function assertWrite(request: Request, mayWrite: boolean): void {
  if (!mayWrite) throw refusal(403, "READ_ONLY", "This studio only reads. Start it with --write, or pass write: true.");
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") throw refusal(415, "BAD_REQUEST", "A write is JSON: content-type application/json.");
  if (request.headers.get("x-stemma-studio") !== "1")
    throw refusal(403, "BAD_REQUEST", "A write needs the header x-stemma-studio: 1.");
}

/** Everything that the studio answers below `base`, which has no slash at its end. */
export function studioRoutes(base: string): readonly StudioRoute[] {
  return [
    ...PAGES.map((path) => document(path, "text/html; charset=utf-8", shell(base))),
    ...Object.entries(pageFiles).map(([name, { type, text }]) => document(`/${name}`, type, text)),
    ...sessionRoutes,
    ...messageRoutes,
    ...contextRoutes,
    ...memoryRoutes,
    ...entryRoutes,
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

// The build puts it here: see `scripts/studio-page.mjs`.
declare const STUDIO_PAGE: Readonly<Record<string, { readonly type: string; readonly text: string }>>;

const pageFiles = STUDIO_PAGE;

/** The pages; each is the same document, whose script shows what the URL says. */
const PAGES = ["/", "/search", "/session", "/context", "/memory", "/usage"] as const;

function shell(base: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="stemma-base" content="${base}">
<title>Stemma Studio</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}/page.css">
<script type="module" src="${base}/page.js"></script>
</head>
<body><noscript>The studio needs JavaScript.</noscript></body>
</html>
`;
}
