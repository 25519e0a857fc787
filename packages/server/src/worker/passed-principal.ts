import { StemmaError } from "@stemma/model";
import { assertPrincipal, type Principal } from "../access/principal.js";

const HEADER = "stemma-principal";

/** The request as an object is to get it: with whom it is from, whatever it said of that itself, and without their secrets. */
export function withPrincipal(request: Request, principal: Principal, requestId: string): Request {
  const headers = new Headers(request.headers);
  headers.delete("authorization");
  headers.delete("cookie");
  headers.set("x-request-id", requestId);
  headers.set(HEADER, encodeURIComponent(JSON.stringify(principal)));
  return new Request(request, { headers });
}

/** Reads whom a request to an object is from. Only what has the binding reaches an object, so it is believed. Errors: `NOT_ALLOWED`. */
export function passedPrincipal({ headers }: Request): Principal {
  try {
    const principal = JSON.parse(decodeURIComponent(headers.get(HEADER) ?? "")) as Principal;
    assertPrincipal(principal);
    if (principal.userId !== undefined) return principal;
  } catch {
    // It is nobody's.
  }
  throw new StemmaError("NOT_ALLOWED", {}, "This request did not come through createWorker().");
}
