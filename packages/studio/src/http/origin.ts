import { type Refusal, refusal } from "./failure.js";

/** Where a browser says that a request comes from, if it is the page itself or the user: a link that was typed or clicked elsewhere. */
const OWN_SITES = ["same-origin", "none"];

/**
 * Refuses a request that a page of another origin made a browser send, and one to a host that is not among `hosts`; null for
 * any other. A name that leads to this machine for a moment (DNS rebinding) is such a host.
 */
export function refusalOfOrigin(request: Request, hosts: readonly string[] | undefined): Refusal | null {
  const url = new URL(request.url);
  const named = [url.host, request.headers.get("host") ?? url.host];
  if (hosts !== undefined && !named.every((host) => hosts.includes(host.toLowerCase()))) {
    return refusal(403, "NOT_ALLOWED", "This host is not known here.");
  }
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && !OWN_SITES.includes(site)) {
    return refusal(403, "NOT_ALLOWED", "Another site may not send requests here. Open the address itself.");
  }
  const origin = request.headers.get("origin");
  // Behind a proxy the URL is the server's own; the header says what the browser asked for.
  if (origin !== null && !(URL.canParse(origin) && named.includes(new URL(origin).host))) {
    return refusal(403, "NOT_ALLOWED", "Another origin may not send requests here.");
  }
  return null;
}
