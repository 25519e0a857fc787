import { invalid, LONGEST_TIMER } from "@stemma/model";

export interface StemmaClientOptions {
  /** The server's address, such as `https://memory.example.com`. Default: the environment's `STEMMA_BASE_URL`. */
  readonly baseUrl?: string | undefined;
  /** A key of the server. Default: the environment's `STEMMA_API_KEY`; without one, requests have no key. */
  readonly apiKey?: string | undefined;
  /** Gets a user's token from your own server, instead of a key. It is called again when the server no longer takes the last one. */
  readonly token?: (() => Promise<string>) | undefined;
  /** Sends a request. Default: the `fetch` there is. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** Milliseconds until an answer, and between two pieces of a stream. Default 60,000. */
  readonly timeout?: number | undefined;
  /** How often a request that failed is sent again. Default 2. */
  readonly maxRetries?: number | undefined;
}

/** How one call is made. */
export interface ReadInit {
  /** Ends the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until an answer, and between two pieces of a stream. Default: the client's. */
  readonly timeout?: number | undefined;
}

/** How one call that writes is made. */
export interface WriteInit extends ReadInit {
  /** Names the write: the server makes those of one name once. Default: a random one for each call. */
  readonly idempotencyKey?: string | undefined;
  /** Writes only over the version with this tag, which `client.tagOf()` gives. */
  readonly ifMatch?: string | undefined;
  /** Writes only where nothing is yet. */
  readonly ifNoneMatch?: "*" | undefined;
}

/** Says of an option, in words, how it must be, and whether it is. */
type Rule = readonly [wanted: string, holds: (value: unknown) => boolean];
type Rules<Options> = { readonly [Name in keyof Options]-?: Rule };

/** True for what can stand in a header. Whatever else refuses it would repeat a key in its message. */
export const isHeader = (value: unknown) => typeof value === "string" && /^[!-~]+$/.test(value);

const HEADER: Rule = ["visible ASCII", isHeader];
const CALLABLE: Rule = ["a function", (value) => typeof value === "function"];
const whole = (least: number): Rule => [
  `a whole number from ${least} on`,
  (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= LONGEST_TIMER,
];

export const CLIENT: Rules<StemmaClientOptions> = {
  // A path alone is an address on the server that a page is from.
  baseUrl: ["the address of a server, as STEMMA_BASE_URL", (value) => /^(https?:\/)?\/[^@?#\s]+$/i.test(String(value))],
  apiKey: HEADER,
  token: CALLABLE,
  fetch: CALLABLE,
  timeout: whole(1),
  maxRetries: whole(0),
};

export const INIT: Rules<WriteInit> = {
  signal: ["an AbortSignal", (value) => value instanceof AbortSignal],
  timeout: whole(1),
  idempotencyKey: HEADER,
  ifMatch: HEADER,
  ifNoneMatch: HEADER,
};

/** Throws `INVALID_ARGUMENT`. The table of options that other wings have would be a tenth of the client. */
export function assertOptions(rules: Readonly<Record<string, Rule>>, options: object, owner: string): void {
  for (const [option, value] of Object.entries(options)) {
    const [wanted, holds] = (Object.hasOwn(rules, option) && rules[option]) || [];
    if (holds === undefined) {
      const known = Object.keys(rules).join(", ");
      throw invalid(`The options of ${owner} are ${known}; ${JSON.stringify(option)} is none of them.`, { option });
    }
    if (value !== undefined && !holds(value)) throw invalid(`The ${option} of ${owner} must be ${wanted}.`, { option });
  }
}
