import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { MemoryOwner, StudioFailure, StudioInfo, StudioReads, StudioWrites } from "../api.js";
import { linkTo } from "./location.js";
import type { Query } from "./router.js";
/** A failure that the server told, or `UNREACHABLE` where it did not answer. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly details?: StudioFailure["details"],
  ) {
    super(message);
  }
}

export function apiAddress(route: string, query: Query): string {
  return linkTo(`/api/${route}`, query);
}

/** Reads a route. Errors: `ApiError`; an `AbortError` where the signal was given up. */
export function read<R extends keyof StudioReads>(
  route: R,
  query: Query = {},
  signal?: AbortSignal,
): Promise<StudioReads[R]> {
  return request(apiAddress(route, query), signal === undefined ? {} : { signal }) as Promise<StudioReads[R]>;
}

/** Writes, and resolves to what the server answers. Errors: `ApiError`. */
export function write<R extends keyof StudioWrites, T = object>(route: R, body: StudioWrites[R]): Promise<T> {
  return request(apiAddress(route, {}), {
    method: "POST",
    headers: { "content-type": "application/json", "x-stemma-studio": "1" },
    body: JSON.stringify(body),
  }) as Promise<T>;
}

/** The owner as the query of a route of memory, or of the page of memory. */
export function ownerQuery(owner: MemoryOwner): Query {
  return { ...owner };
}

async function request(address: string, init: RequestInit): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(address, init);
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new ApiError("UNREACHABLE", "The studio does not answer. Is it still running?");
  }
  const body: unknown = await response.json().catch(() => null);
  if (response.ok) return body;
  const failure = body as Partial<StudioFailure> | null;
  throw new ApiError(
    failure?.code ?? `HTTP_${response.status}`,
    failure?.message ?? `The studio answered ${response.status}.`,
    failure?.details,
  );
}

export const Info = createContext<StudioInfo | null>(null);

export function useInfo(): StudioInfo | null {
  return useContext(Info);
}
