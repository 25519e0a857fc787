import { check, defineOptions, invalid } from "@stemma/model";

/**
 * The most that a key may use. A limit that is left out does not hold. Minutes and days are those of UTC.
 */
export interface Quota {
  /** Requests in a minute. Each call of `stemma/remote` is one. */
  readonly requestsPerMinute?: number;
  /** Requests in a day. */
  readonly requestsPerDay?: number;
  /** Requests that write, in a day, and calls of `stemma/remote` that do. */
  readonly writesPerDay?: number;
  /** Bytes of the bodies of requests that write, in a day. */
  readonly bytesPerDay?: number;
}

export type QuotaName = keyof Quota;

const MINUTE = 60_000;
const DAY = 86_400_000;

/** The cost of each limit, and its milliseconds. */
export const QUOTAS = {
  requestsPerMinute: { of: "requests", span: MINUTE },
  requestsPerDay: { of: "requests", span: DAY },
  writesPerDay: { of: "writes", span: DAY },
  bytesPerDay: { of: "bytes", span: DAY },
} as const satisfies Record<QuotaName, object>;

export const QUOTA_NAMES = Object.keys(QUOTAS) as QuotaName[];

/** A header has 15 digits at most. */
const limit = check.whole(1, 999_999_999_999_999);
const QUOTA = defineOptions<Quota>({
  requestsPerMinute: limit,
  requestsPerDay: limit,
  writesPerDay: limit,
  bytesPerDay: limit,
});

/** Throws `INVALID_ARGUMENT` for what is no quota, and for a limit that is undefined: it would not hold. */
export function assertQuota(quota: Quota): undefined {
  QUOTA.assert(quota, "a quota");
  const lost = Object.entries(quota).find(([, value]) => value === undefined);
  if (lost !== undefined) throw invalid(`The ${lost[0]} of a quota is undefined: leave it out, or give it.`);
}

/** One limit of whoever sent a request. */
export interface LimitState {
  readonly name: string;
  /** The whole limit. */
  readonly most: number;
  /** Milliseconds in which it holds. */
  readonly span: number;
  /** True where it counts bytes. Default: it counts requests. */
  readonly isOfBytes?: boolean;
  /** The rest; null where it is not known. */
  readonly left: number | null;
  /** Milliseconds until it is whole again. */
  readonly resetsIn: number;
}

const SECOND = 1_000;

/** `RateLimit-Policy` and `RateLimit`, as draft-ietf-httpapi-ratelimit-headers has them. None without limits. */
export function limitHeaders(states: readonly LimitState[]): [name: string, value: string][] {
  const policies = states.map(
    ({ name, most, span, isOfBytes }) =>
      `"${name}";q=${most};w=${span / SECOND}${isOfBytes ? ';qu="content-bytes"' : ""}`,
  );
  const rests = states.flatMap(({ name, left, resetsIn }) =>
    left === null ? [] : [`"${name}";r=${Math.floor(left)};t=${Math.max(0, Math.ceil(resetsIn / SECOND))}`],
  );
  return [
    ["ratelimit-policy", policies.join(", ")] as [string, string],
    ["ratelimit", rests.join(", ")] as [string, string],
  ].filter(([, value]) => value !== "");
}
