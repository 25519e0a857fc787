import { respond } from "../../studio/http/headers.js";
import { isEqualToken, randomToken } from "../http/token.js";

const DAY = 24 * 60 * 60;

/** Lets in who has a token, and from then on the browser that it was given to. */
export interface TokenGate {
  /** A token for one use. */
  issue(): string;
  /** True for a request with the cookie. */
  authorize(request: Request): boolean;
  /** Of a request with a token that fits: a redirect to the address without it, with the cookie. Null for any other. */
  exchange(request: Request): Response | null;
}

/** `secret` is a token that can be used again; `name` tells the cookies of several servers on one host apart. */
export function createTokenGate(name: string, secret: string | undefined): TokenGate {
  const cookie = randomToken();
  const issued = new Set<string>();
  const take = (token: string): boolean => {
    if (secret !== undefined && isEqualToken(token, secret)) return true;
    const found = [...issued].find((each) => isEqualToken(token, each));
    return found !== undefined && issued.delete(found);
  };
  const authorize = (request: Request) => cookiesOf(request, name).some((value) => isEqualToken(value, cookie));
  return {
    issue: () => {
      const token = randomToken();
      issued.add(token);
      return token;
    },
    authorize,
    exchange: (request) => {
      const url = new URL(request.url);
      const [token, ...others] = url.searchParams.getAll("token");
      if (token === undefined || others.length > 0 || request.method !== "GET") return null;
      // Who has the cookie needs no token: a link that is clicked twice opens twice.
      if (!take(token) && !authorize(request)) return null;
      url.searchParams.delete("token");
      // A path that begins with two slashes would name another host.
      const path = url.pathname.replace(/^\/+/, "/");
      return respond(null, {
        status: 303,
        headers: {
          location: `${path}${url.search}`,
          "set-cookie": `${name}=${cookie}; Path=/; Max-Age=${DAY}; HttpOnly; SameSite=Strict`,
        },
      });
    },
  };
}

function cookiesOf(request: Request, name: string): string[] {
  const pairs = (request.headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
}
