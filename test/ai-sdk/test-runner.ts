/** What the suite uses of a test runner: vitest's, Bun's, or the one in a worker. */
export interface Runner {
  describe(name: string, body: () => void): void;
  it(name: string, run: () => Promise<void>): void;
  // biome-ignore lint/suspicious/noExplicitAny: each runner has its own matchers
  expect(value: unknown): any;
}
