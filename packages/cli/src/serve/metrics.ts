import { monitorEventLoopDelay } from "node:perf_hooks";
import type { RequestRecord } from "@stemma/server";

/** Upper bounds of how long answers take, in seconds. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Durations {
  readonly buckets: number[];
  sum: number;
  count: number;
}

/** Counts requests, in the text format of Prometheus. Its labels hold routes and codes, no ids. */
export class Metrics {
  readonly #requests = new Map<string, number>();
  readonly #refusals = new Map<string, number>();
  readonly #durations = new Map<string, Durations>();
  readonly #delay = monitorEventLoopDelay({ resolution: 20 });
  #underWay = 0;

  constructor() {
    this.#delay.enable();
  }

  begin(): void {
    this.#underWay += 1;
  }

  end(): void {
    this.#underWay -= 1;
  }

  /** Counts a request whose answer has begun. */
  count({ method, route, status, ms, code }: RequestRecord): void {
    const where = `method="${escaped(method)}",route="${escaped(route ?? "none")}"`;
    const key = `${where},status="${status}"`;
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1);
    if (code !== null) this.#refusals.set(code, (this.#refusals.get(code) ?? 0) + 1);
    const durations = this.#durations.get(where) ?? { buckets: BOUNDS.map(() => 0), sum: 0, count: 0 };
    const seconds = ms / 1_000;
    BOUNDS.forEach((bound, i) => {
      if (seconds <= bound) durations.buckets[i] = (durations.buckets[i] ?? 0) + 1;
    });
    durations.sum += seconds;
    durations.count += 1;
    this.#durations.set(where, durations);
  }

  text(): string {
    const lines = [
      "# TYPE stemma_http_requests_total counter",
      ...[...this.#requests].map(([labels, number]) => `stemma_http_requests_total{${labels}} ${number}`),
      "# TYPE stemma_http_refusals_total counter",
      ...[...this.#refusals].map(([code, number]) => `stemma_http_refusals_total{code="${code}"} ${number}`),
      "# TYPE stemma_http_request_duration_seconds histogram",
      ...[...this.#durations].flatMap(([labels, { buckets, sum, count }]) => [
        ...BOUNDS.map((le, i) => `stemma_http_request_duration_seconds_bucket{${labels},le="${le}"} ${buckets[i]}`),
        `stemma_http_request_duration_seconds_bucket{${labels},le="+Inf"} ${count}`,
        `stemma_http_request_duration_seconds_sum{${labels}} ${sum}`,
        `stemma_http_request_duration_seconds_count{${labels}} ${count}`,
      ]),
      "# TYPE stemma_http_requests_in_flight gauge",
      `stemma_http_requests_in_flight ${this.#underWay}`,
      "# TYPE stemma_event_loop_delay_seconds gauge",
      `stemma_event_loop_delay_seconds{quantile="0.99"} ${this.#delay.percentile(99) / 1e9}`,
      "# TYPE process_resident_memory_bytes gauge",
      `process_resident_memory_bytes ${process.memoryUsage.rss()}`,
    ];
    this.#delay.reset();
    return `${lines.join("\n")}\n`;
  }
}

// A method is whatever the client sent.
function escaped(text: string): string {
  return text.slice(0, 100).replace(/[^\w/:*.~-]/g, "_");
}
