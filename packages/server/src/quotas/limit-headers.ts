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
