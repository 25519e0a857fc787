/** Nothing from elsewhere, no inline script, no text made into HTML. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "media-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Headers of every answer. */
const HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
} as const;

/** An answer with the headers of every answer; `headers` replace them by name. */
export function respond(
  body: BodyInit | null,
  { status = 200, headers = {} }: { status?: number; headers?: Readonly<Record<string, string>> },
): Response {
  return new Response(body, { status, headers: { ...HEADERS, ...headers } });
}

/** An answer of JSON. */
export function respondJson(value: unknown, status = 200): Response {
  return respond(JSON.stringify(value), { status, headers: { "content-type": "application/json; charset=utf-8" } });
}
