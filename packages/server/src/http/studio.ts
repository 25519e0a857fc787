import { StemmaError } from "@stemma/model";
import { createStudio, refusalOfOrigin } from "@stemma/studio";
import { RateLimits } from "../access/rate-limits.js";
import type { ServerApp } from "./server-app.js";
import type { ServerHandler, ServerOptions } from "./server-options.js";

/** Holds the key or the token of who signed in. Pages of other sites cannot make a browser send it. */
const COOKIE = "stemma-key";
const DAY = 86_400;
/** In a minute, by all who try: whoever guesses keys has no name. */
const MOST_SIGN_INS = 60;
const MOST_CHARACTERS = 8_192;
/** Characters that a header holds. */
const KEY = /^[!-~]+$/;

/** The studio, of what a principal reaches. It writes where they may. */
export function studioHandler(base: string, { hosts, onError }: ServerOptions): ServerHandler {
  return (request, { principal, store, requestId }) => {
    const { userId, readOnly = false } = principal;
    const studio = createStudio(store, {
      authorize: () => (userId === undefined ? true : { userId }),
      basePath: base,
      write: !readOnly,
      hosts,
      onError: (error) => onError?.(error, requestId),
    });
    return studio(request);
  };
}

/** The request with the key of its cookie, if it is one to the studio and has no other. */
export function signedIn(request: Request, base: string): Request {
  const { pathname } = new URL(request.url);
  if (pathname !== base && !pathname.startsWith(`${base}/`)) return request;
  const key = cookieOf(request);
  if (key === null || request.headers.has("authorization")) return request;
  const headers = new Headers(request.headers);
  headers.set("authorization", `Bearer ${key}`);
  return new Request(request, { headers });
}

/** The page that asks for a key, and what it is sent to. */
export function studioSignIn(app: ServerApp, authenticate: ServerOptions["authenticate"], base: string): void {
  const attempts = new RateLimits({ perMinute: MOST_SIGN_INS });
  const page = (status: 200 | 401, note: string) =>
    new Response(signInPage(base, note), {
      status,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": POLICY,
        "cache-control": "no-store",
      },
    });
  app.get(`${base}/sign-in`, () => page(200, ""));
  app.post(`${base}/sign-in`, async (c) => {
    const { raw } = c.req;
    if (refusalOfOrigin(raw, undefined) !== null)
      throw new StemmaError("FORBIDDEN", {}, "Another site may not sign in.");
    attempts.count({ id: base });
    const key = new URLSearchParams(await readForm(raw)).get("key")?.trim() ?? "";
    const unknown = () => page(401, "This key is not known, or has ended.");
    if (!KEY.test(key)) return unknown();
    try {
      await authenticate(new Request(raw.url, { headers: { authorization: `Bearer ${key}` } }));
    } catch (error) {
      if (StemmaError.isInstance(error, "NOT_ALLOWED")) return unknown();
      throw error;
    }
    const secure = isSecure(raw) ? "; Secure" : "";
    return new Response(null, {
      status: 303,
      headers: {
        location: base,
        "set-cookie": `${COOKIE}=${encodeURIComponent(key)}; Path=${base}; Max-Age=${DAY}; HttpOnly; SameSite=Strict${secure}`,
      },
    });
  });
  // A page that nobody signed in to asks for it; its data are refused as anywhere.
  app.use(`${base}/*`, async (c, next) => {
    const isPage = c.req.method === "GET" && (c.req.header("accept") ?? "").includes("text/html");
    if (!isPage) return next();
    try {
      await authenticate(signedIn(c.req.raw, base));
    } catch (error) {
      if (StemmaError.isInstance(error, "NOT_ALLOWED")) return c.redirect(`${base}/sign-in`, 303);
      throw error;
    }
    return next();
  });
}

function cookieOf(request: Request): string | null {
  const found = /(?:^|;\s*)stemma-key=([^;]*)/.exec(request.headers.get("cookie") ?? "")?.[1];
  try {
    const key = found === undefined ? "" : decodeURIComponent(found);
    return KEY.test(key) ? key : null;
  } catch {
    return null;
  }
}

async function readForm(request: Request): Promise<string> {
  const size = Number(request.headers.get("content-length") ?? MOST_CHARACTERS + 1);
  return size > MOST_CHARACTERS ? "" : request.text();
}

// A proxy that speaks TLS says so.
function isSecure(request: Request): boolean {
  return request.url.startsWith("https:") || request.headers.get("x-forwarded-proto") === "https";
}

const POLICY =
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

function signInPage(base: string, note: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Stemma Studio: sign in</title>
<link rel="icon" href="data:,">
<style>
body { font: 16px/1.5 system-ui, sans-serif; display: grid; place-items: center; min-height: 100vh; margin: 0; }
form { width: min(24rem, calc(100vw - 3rem)); }
h1 { font-size: 1.25rem; }
input, button { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem .75rem; margin-top: .5rem; border: 1px solid; border-radius: .375rem; }
p[role=alert] { color: light-dark(#b00020, #ff8a80); min-height: 1.5em; }
</style>
</head>
<body>
<form method="post" action="${base}/sign-in">
<h1>Stemma Studio</h1>
<label>Key or token <input name="key" type="password" autocomplete="current-password" required autofocus></label>
<button>Sign in</button>
<p role="alert">${note}</p>
</form>
</body>
</html>
`;
}
