import { check, defineOptions, Recent, StemmaError } from "@stemma/model";
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

/**
 * Counts the requests of each principal in this process: a bucket that fills evenly. Several processes allow as many times as
 * much. Errors: `INVALID_ARGUMENT`.
 */
export class RateLimits {
  readonly #limits: readonly { readonly most: number; readonly span: number; readonly buckets: Recent<Bucket> }[];

  constructor(options: RateLimitsOptions = {}) {
    RATE_LIMITS.assert(options, "RateLimits");
    const { perMinute = PER_MINUTE, perDay } = options;
    const limit = (most: number, span: number) => ({ most, span, buckets: new Recent<Bucket>(REMEMBERED) });
    this.#limits = [limit(perMinute, MINUTE), ...(perDay === undefined ? [] : [limit(perDay, DAY)])];
  }

  /**
   * Counts a request, or several that came as one: these are let in together, and what they are beyond the limit is waited for
   * afterwards. Errors: `RATE_LIMITED`, with `details.retryAfter` in seconds; such a request does not count.
   */
  count({ id }: Pick<Principal, "id">, requests = 1): void {
    const now = Date.now();
    const filled = this.#limits.map(({ most, span, buckets }) => {
      const { left, at } = buckets.get(id) ?? { left: most, at: now };
      // A clock that goes back fills nothing.
      const bucket = { left: Math.min(most, left + (Math.max(0, now - at) * most) / span), at: now };
      return { bucket, buckets, wait: ((1 - bucket.left) * span) / most };
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
}
