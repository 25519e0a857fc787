import { check, defineOptions, Recent, StemmaError } from "@stemma/model";
import type { LimitState } from "../quotas/quota.js";
import type { Principal } from "./principal.js";

export interface RateLimitsOptions {
  /** Requests that each principal makes in a minute. As many may come at once. Default: 600. */
  readonly perMinute?: number | undefined;
  /** Requests that each principal makes in a day of 24 hours. Default: no limit. */
  readonly perDay?: number | undefined;
}

const RATE_LIMITS = defineOptions<RateLimitsOptions>({ perMinute: check.whole(1), perDay: check.whole(1) });

const PER_MINUTE = 600;
const MINUTE = 60_000;
const DAY = 86_400_000;
/** Principals of whom it is known how many requests they made. One that is forgotten begins anew. */
const REMEMBERED = 100_000;

/** The rest of a limit, at a time. */
interface Bucket {
  left: number;
  at: number;
}

interface Limit extends Pick<LimitState, "name" | "most" | "span"> {
  readonly buckets: Recent<Bucket>;
}

/**
 * Counts the requests of each principal in this process: a bucket that fills evenly. Several processes allow as many times as
 * much. Errors: `INVALID_ARGUMENT`.
 */
export class RateLimits {
  readonly #limits: readonly Limit[];

  constructor(options: RateLimitsOptions = {}) {
    RATE_LIMITS.assert(options, "RateLimits");
    const { perMinute = PER_MINUTE, perDay } = options;
    const limit = (name: string, most: number, span: number) => ({
      name,
      most,
      span,
      buckets: new Recent<Bucket>(REMEMBERED),
    });
    this.#limits = [
      limit("perMinute", perMinute, MINUTE),
      ...(perDay === undefined ? [] : [limit("perDay", perDay, DAY)]),
    ];
  }

  /**
   * Counts a request, or several that came as one: these are let in together, and what they are beyond the limit is waited for
   * afterwards. Errors: `RATE_LIMITED`, with `details.retryAfter` in seconds; such a request does not count.
   */
  count({ id }: Pick<Principal, "id">, requests = 1): void {
    const filled = this.#limits.map((limit) => {
      const bucket = filledBucket(limit, id);
      return { bucket, buckets: limit.buckets, wait: ((1 - bucket.left) * limit.span) / limit.most };
    });
    const wait = Math.max(...filled.map((each) => each.wait));
    for (const { bucket, buckets } of filled) {
      if (wait <= 0) bucket.left -= requests;
      buckets.set(id, bucket);
    }
    if (wait <= 0) return;
    const retryAfter = Math.ceil(wait / 1_000);
    throw new StemmaError("RATE_LIMITED", { retryAfter }, `Too many requests: try again in ${retryAfter} seconds.`);
  }

  /** The limits of a principal as they are now, for the headers of an answer. */
  states({ id }: Pick<Principal, "id">): LimitState[] {
    return this.#limits.map((limit) => {
      const { name, most, span } = limit;
      const { left } = filledBucket(limit, id);
      return { name, most, span, left: Math.max(0, left), resetsIn: ((most - left) * span) / most };
    });
  }
}

function filledBucket({ most, span, buckets }: Limit, id: string): Bucket {
  const now = Date.now();
  const { left, at } = buckets.get(id) ?? { left: most, at: now };
  // A clock that goes back fills nothing.
  return { left: Math.min(most, left + (Math.max(0, now - at) * most) / span), at: now };
}
