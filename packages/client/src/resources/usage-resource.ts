import type { ReadInit, WriteInit } from "../client-options.js";
import type { Pages } from "../pages.js";
import { type Answer, type Body, type Query, Resource, SESSION } from "./resource.js";

const ONE = `${SESSION}/usage` as const;

/** How many tokens were used, and what they cost. */
export class Usage extends Resource {
  /** Sums usage up by day, model or session. */
  sum(query: Query<"GET /v1/usage">, init?: ReadInit): Pages<Answer<"GET /v1/usage">["data"][number]> {
    return this.pages("GET /v1/usage", [], init, query);
  }

  /** Reads a session's usage by day and model. */
  list(session: string, init?: ReadInit): Pages<Answer<`GET ${typeof ONE}`>["data"][number]> {
    return this.pages(`GET ${ONE}`, [session], init);
  }

  /** Counts a request to a model. */
  add(session: string, usage: Body<`POST ${typeof ONE}`>, init?: WriteInit): Promise<undefined> {
    return this.call(`POST ${ONE}`, [session], init, usage);
  }
}
