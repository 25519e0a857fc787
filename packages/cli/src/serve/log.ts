import { StemmaError } from "@stemma/model";
import type { RequestRecord } from "@stemma/server";
import type { Io } from "../io.js";

const HEALTH: readonly (string | null)[] = ["/healthz", "/readyz"];

/** Milliseconds in which lines of requests are collected: each write to a pipe holds up what else is answered. */
const COLLECTED_FOR = 50;

/** Writes what happens as JSON lines, or as lines for a person. No text of a message, a block, an entry or a query is in them. */
export class ServerLog {
  #collected = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly io: Io,
    private readonly isJson: boolean,
  ) {}

  /** A step of the server's life. */
  step(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
    if (this.isJson) this.#line("info", event, fields);
  }

  /** Whoever asks only whether the server is well is noted when it is not. */
  request(record: RequestRecord): void {
    const { method, route, status, ms, code } = record;
    if (HEALTH.includes(route) && status === 200) return;
    if (this.isJson) {
      this.#collect("info", "request", { ...record });
      this.#timer ??= setTimeout(() => this.#write(), COLLECTED_FOR);
    } else void this.io.write(`${method} ${route ?? "?"} ${status}${code === null ? "" : ` ${code}`} ${ms} ms\n`);
  }

  /** A fault. Of an error its code, its name and where it came from: its message may repeat a text. */
  fault(error: unknown, requestId: string | null): void {
    const fields = { requestId, ...describe(error) };
    if (this.isJson) this.#line("error", "fault", fields);
    else this.io.writeError(`stemma: ${JSON.stringify(fields)}\n`);
  }

  #line(level: string, event: string, fields: Readonly<Record<string, unknown>>): void {
    this.#collect(level, event, fields);
    this.#write();
  }

  #collect(level: string, event: string, fields: Readonly<Record<string, unknown>>): void {
    this.#collected += `${JSON.stringify({ time: new Date().toISOString(), level, event, ...fields })}\n`;
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    void this.io.write(this.#collected);
    this.#collected = "";
  }
}

const MOST_FRAMES = 12;
const MOST_CAUSES = 3;

function describe(error: unknown, depth = 0): object {
  if (!(error instanceof Error)) return { error: typeof error };
  const { name, stack = "", cause } = error;
  const code = StemmaError.isInstance(error) || "code" in error ? String(error.code) : undefined;
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  return {
    error: name,
    code,
    at: frames.slice(0, MOST_FRAMES).map((line) => line.trim()),
    ...(cause !== undefined && depth < MOST_CAUSES && { cause: describe(cause, depth + 1) }),
  };
}
