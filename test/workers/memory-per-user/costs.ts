import { expect } from "vitest";
import type { Answer } from "./worker.js";

/** The rows of many answers to the same calls. */
export class Costs {
  readonly #calls = new Map<string, { read: number[]; written: number[] }>();

  add(call: string, { status, read, written }: Answer): void {
    expect(status, call).toBe(200);
    const counted = this.#calls.get(call) ?? { read: [], written: [] };
    this.#calls.set(call, counted);
    counted.read.push(read);
    counted.written.push(written);
  }

  expectAtMost(limits: Record<string, readonly [read: number, written: number]>): void {
    for (const [call, [read, written]] of Object.entries(limits)) {
      const counted = this.#calls.get(call);
      expect(Math.max(...(counted?.read ?? [Number.NaN])), `rows read by ${call}`).toBeLessThanOrEqual(read);
      expect(Math.max(...(counted?.written ?? [Number.NaN])), `rows written by ${call}`).toBeLessThanOrEqual(written);
    }
  }

  report(): string {
    const range = (values: number[]) => [...new Set([Math.min(...values), Math.max(...values)])].join("–");
    const line = ([call, { read, written }]: [string, { read: number[]; written: number[] }]) =>
      `  ${range(read).padStart(9)} read ${range(written).padStart(7)} written  ${call}`;
    return [...this.#calls].map(line).join("\n");
  }
}
