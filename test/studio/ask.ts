import type { Store } from "../../packages/store/src/contract/store.js";
import { createStudio } from "../../packages/studio/src/create-studio.js";
import { sampleManager } from "./sample.js";

export const BASE = "http://studio.test:4984/debug";

/** A request to a studio, as JSON, so that it can go to another process. */
export interface Question {
  /** Below the base path: `/api/info`. */
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What is posted; the headers of a write come with it. */
  readonly body?: unknown;
  /** Who asks: a user, the owner of the studio (the default), or nobody. */
  readonly as?: "owner" | "nobody" | { readonly user: string };
  /** The studio only reads. */
  readonly readOnly?: boolean;
  /** It was made of the store, without a manager. */
  readonly onStore?: boolean;
  /** Only these hosts are known. */
  readonly hosts?: readonly string[];
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Of an answer of JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests say what they look for.
  readonly json: any;
}

export type Ask = (question: Question) => Promise<Answer>;

/** Asks studios of a store. */
export function askingOn(store: Store): Ask {
  return async (question) => {
    const { path, readOnly = false, onStore = false, hosts } = question;
    const studio = createStudio(onStore ? store : sampleManager(store), {
      basePath: "/debug",
      write: !readOnly,
      hosts,
      authorize: (request) => {
        const who = request.headers.get("x-who");
        return who === "owner" ? true : who === null ? false : { userId: who };
      },
    });
    const response = await studio(new Request(`${BASE}${path}`, initOf(question)));
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json;");
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      text,
      json: isJson ? JSON.parse(text) : null,
    };
  };
}

function initOf({ as = "owner", method, headers, body }: Question): RequestInit {
  const who = typeof as === "object" ? as.user : as;
  return {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(who === "nobody" ? {} : { "x-who": who }),
      ...(body === undefined ? {} : { "content-type": "application/json", "x-stemma-studio": "1" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}
