import type { Routes } from "../api.js";
import type { ReadInit, WriteInit } from "../client-options.js";
import { type Page, Pages } from "../pages.js";
import type { Route } from "../request.js";
import type { Transport } from "../transport.js";

/** A part of a route that takes one; else never. */
type Part<R extends Route, Name extends string> = Routes[R] extends { readonly [N in Name]: infer Given }
  ? Given
  : never;
export type Query<R extends Route> = Part<R, "query"> & object;
export type Body<R extends Route> = Part<R, "body">;
export type Answer<R extends Route> = Routes[R]["answer"];

/** The path of a session. */
export const SESSION = "/v1/sessions/{session}";

/** Whose memory: that of the token's user, of a user, of a session, or of a key that several share. */
export type Owner = "user" | `user:${string}` | `session:${string}` | `key:${string}`;

/** The routes whose answers are pages. */
type ListRoute = { [R in Route]: Answer<R> extends Page<unknown> ? R : never }[Route];
type ListOf<R extends ListRoute> = Pages<Answer<R>["data"][number], Omit<Answer<R>, keyof Page<unknown>>>;

/** A group of calls. */
export class Resource {
  constructor(protected readonly transport: Transport) {}

  protected call<R extends Route>(
    route: R,
    ids: readonly string[],
    init?: WriteInit,
    body?: Body<R>,
    query?: Query<R>,
  ): Promise<Answer<R>> {
    return this.transport.call(route, { ids, init, body, query });
  }

  /** A list that is filtered by its query, or by its body. */
  protected pages<R extends ListRoute>(
    route: R,
    ids: readonly string[],
    init?: ReadInit,
    filters?: Query<R> | Body<R>,
  ): ListOf<R> {
    const field = route.startsWith("GET") ? "query" : "body";
    return new Pages<unknown>((cursor) =>
      this.transport.call(route, { ids, init, [field]: { ...(filters as object), ...(cursor && { cursor }) } }),
    ) as unknown as ListOf<R>;
  }
}
